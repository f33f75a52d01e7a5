import Testing

/// How much an app sees that imports Tern.
struct SurfaceTests {
  /// What an app reads before it finds a call. Declare for other targets of this package what no app
  /// needs: `package`.
  private static let most = 700

  /// `import Tern` brings these.
  private static let modules = ["Tern", "TernCore", "TernDatabase"]

  /// Crash points and planted bugs, which only `@_spi(Rehearsal)` shows.
  private static let rehearsal = "Sources/TernCore/Rehearsal/"

  @Test func `import Tern brings fewer than 700 declarations`() throws {
    var counts: [String: Int] = [:]
    for module in Self.modules {
      for path in Repository.files("Sources/\(module)", withExtension: "swift")
      where !path.hasPrefix(Self.rehearsal) {
        counts[module, default: 0] += try Self.declarations(in: Repository.text(path))
      }
    }
    let total = counts.values.reduce(0, +)
    #expect(counts.values.allSatisfy { $0 > 5 } && total > 300)
    #expect(total < Self.most, "\(counts): make package what no app needs")
  }

  @Test func `the rehearsal's declarations stand behind its SPI`() throws {
    // What a conformance adds to a type behind the SPI is behind it too.
    let open = /^(?:public )?(?:extension \w+ \{|(?:struct|enum|protocol|func|typealias) )/
    var exposed: [String] = []
    for path in Repository.files("Sources/TernCore/Rehearsal", withExtension: "swift") {
      guard Self.declarations(in: try Repository.text(path)) > 0 else { continue }
      exposed += try Line.lines(of: path).filter { $0.text.firstMatch(of: open) != nil }
        .map { "\($0)" }
    }
    #expect(exposed.isEmpty, "\(exposed.joined(separator: "\n"))")
  }

  @Test func `re-exports are the modules that are counted`() throws {
    let exported = try Repository.text("Sources/Tern/Exports.swift")
      .matches(of: /@_exported import (\w+)/).map { String($0.1) }
    #expect(Set(exported + ["Tern"]) == Set(Self.modules))
  }

  /// Lines that declare something public.
  private static func declarations(in text: String) -> Int {
    text.matches(of: #/(?m)^\s*(?:@\w+(?:\([^)]*\))? )*public /#).count
  }

  @Test func `declarations are counted, and what comments say is not`() {
    let text = """
      /// The public face.
      public struct Row {
        public var key: Int
        @discardableResult public func move() -> Int { key }
        package var life = 0
      }
      """
    #expect(Self.declarations(in: text) == 3)
  }
}
