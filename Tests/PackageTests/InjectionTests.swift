import Foundation
import Testing

/// Clock, randomness, identifiers and tasks come from outside, so that a simulation can own them;
/// and no error is swallowed without a reason.
struct InjectionTests {
  /// What reaches past the injection. Drawing from a generator that was handed in is fine.
  private static let forbidden = [
    #"\bTask\s*(<[^>]*>)?\s*(\.detached\s*)?(\([^)]*\)\s*)?\{"#, #"\bTask\.sleep\b"#,
    #"\busleep\("#, #"\bThread\.sleep\b"#, #"\bDate\(\)"#, #"\bDate\.now\b"#, #"\bUUID\(\)"#,
    #"\.random\((?!.*using:)"#, #"\bSystemRandomNumberGenerator\(\)"#,
  ]

  @Test func `clock, randomness and tasks are injected`() throws {
    let patterns = try Self.forbidden.map { try Regex($0) }
    // The command is where clock and randomness come from.
    let found = try excusable("injected default") { text in
      patterns.contains { text.contains($0) }
    }.filter { !$0.hasPrefix("Sources/TernTool/") }
    #expect(found.isEmpty, "\(found.joined(separator: "\n"))")
  }

  /// What may fail without anybody being told, and why that is right.
  private static let reasons: [(pattern: String, why: String)] = [
    (#"defer \{ try\? \w+\.(close|removeItem)"#, "closing what nobody reads any more"),
    (#"try\? JSONDecoder\(\)"#, "the caller says what a text that is not JSON means"),
    (#"try\? encoder\.encode"#, "a document of ours always has a JSON form, or this traps"),
    (#"(guard let|var|let) .* = try\? \w+\(|\(try\? Origin"#, "nil is the answer"),
    (#"try\? await environment\.clock\.sleep"#, "cancellation ends the loop"),
  ]

  @Test func `no error is swallowed without a reason`() throws {
    let patterns = try Self.reasons.map { try Regex($0.pattern) }
    let found = try excusable(nil) { text in
      text.contains("try?") && !patterns.contains { text.contains($0) }
    }
    #expect(found.isEmpty, "\(found.joined(separator: "\n"))")
  }

  /// Lines of code in `Sources` that match and have no comment on them or just above; with
  /// `excuse`, the comment must hold these words.
  private func excusable(_ excuse: String?, _ matches: (String) -> Bool) throws -> [String] {
    try Repository.files("Sources", withExtension: "swift").flatMap { path in
      let lines = try Line.lines(of: path)
      return lines.indices.filter { index in
        let text = lines[index].text
        guard !isComment(text), matches(text.codePart) else { return false }
        // A reason can stand above the statement that the line is a part of.
        let near = lines[max(0, index - 3)...index].map(\.text)
        return !near.contains { $0.contains("//") && (excuse.map($0.contains) ?? true) }
      }.map { "\(lines[$0])" }
    }
  }

  private func isComment(_ text: String) -> Bool {
    text.trimmingCharacters(in: .whitespaces).hasPrefix("//")
  }
}

extension String {
  /// What stands before a comment.
  fileprivate var codePart: String {
    range(of: " //").map { String(self[..<$0.lowerBound]) } ?? self
  }
}
