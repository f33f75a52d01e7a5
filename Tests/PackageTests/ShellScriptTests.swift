import Foundation
import Testing

/// What bash does not say: a script that sources another has that one's variables from there on.
struct ShellScriptTests {
  /// Names that a file assigns outside of functions.
  private func assigned(_ lines: some Sequence<Line>) -> Set<String> {
    let assignment = #/(?:^|[ ;])([A-Za-z_]+)=/#
    return Set(
      lines.filter { !$0.text.hasPrefix("#") && !$0.text.hasPrefix("    ") }
        .flatMap { $0.text.matches(of: assignment).map { String($0.output.1) } })
  }

  @Test func `no script loses a variable to one that it sources`() throws {
    let folder = Repository.root.appending(path: "script")
    var (sourcing, problems) = (0, [String]())
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() {
      if name.hasSuffix(".d") { continue }
      let lines = try Line.lines(of: "script/\(name)")
      guard lines.first?.text.hasSuffix("bash") ?? false else { continue }
      for (index, line) in lines.enumerated() {
        // What stands in a folder of its own is a part of the script.
        guard line.text.hasPrefix(". script/"), !line.text.contains(".d/") else { continue }
        let other = String(line.text.dropFirst(2))
        sourcing += 1
        let sourced = try Line.lines(of: other).filter { !$0.text.hasPrefix(" ") }
        let lost = assigned(lines[..<index]).intersection(assigned(sourced))
        if !lost.isEmpty { problems.append("\(name) sets \(lost.sorted()), and \(other) too") }
      }
    }
    #expect(sourcing > 5)
    #expect(problems == [])
  }
}
