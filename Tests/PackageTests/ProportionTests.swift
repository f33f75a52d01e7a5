import Testing

/// The proportions that `CONTRIBUTING.md` asks for.
struct ProportionTests {
  @Test func `no Swift file has more than 500 lines`() throws {
    let paths = Repository.files(
      "Sources", "Tests", "Benchmarks", "Examples", withExtension: "swift")
    var lengths: [(path: String, lines: Int)] = []
    for path in paths { lengths.append((path, try Line.lines(of: path).count - 1)) }
    lengths.sort { $0.lines < $1.lines }
    let tooLong = lengths.filter { $0.lines > 500 }.map { "\($0.path) has \($0.lines) lines" }
    #expect(tooLong.isEmpty, "\(tooLong.joined(separator: "\n"))")
    let (median, ninth) = (lengths[lengths.count / 2], lengths[lengths.count * 9 / 10])
    print(
      "\(lengths.count) Swift files: median \(median.lines) lines, nine in ten up to "
        + "\(ninth.lines), longest \(lengths[lengths.count - 1].lines)")
  }

  /// `swift format` wraps code, and leaves comments as they are.
  @Test func `no comment in Sources has a line over 100 columns`() throws {
    let paths = ["swift", "h", "c"].flatMap { Repository.files("Sources", withExtension: $0) }
    let tooLong = try paths.flatMap { try Line.lines(of: $0) }.filter { line in
      line.text.count > 100 && line.text.drop { $0 == " " }.hasPrefix("//")
    }
    let list = tooLong.map { "\($0.path):\($0.number) has \($0.text.count) columns" }
    #expect(list.isEmpty, "\(list.joined(separator: "\n"))")
  }
}
