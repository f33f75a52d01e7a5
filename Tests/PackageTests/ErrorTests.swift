import Foundation
import Tern
import Testing

/// What an error says on a screen and in a log.
struct ErrorTests {
  @Test func `every public error has its words for a person, and every code its name`() throws {
    let declaration = /^public struct (\w+)(?:<.*>)?: (?:AdvisingError|Error)\b/
    var errors = 0
    var extensions: Set<Substring> = []
    var needed: [(Substring, Line)] = []
    for path in Repository.files("Sources", withExtension: "swift") {
      var error: Substring?
      for line in try Line.lines(of: path) {
        if let match = line.text.firstMatch(of: declaration) {
          errors += 1
          error = match.1
          needed.append(("extension \(match.1): LocalizedError", line))
        } else if let name = error, line.text.hasPrefix("  public struct Code:") {
          needed.append(("extension \(name).Code: CustomStringConvertible {", line))
        } else if line.text.hasPrefix("}") {
          error = nil
        } else if line.text.hasPrefix("extension ") {
          extensions.insert(line.text[...])
        }
      }
    }
    try #require(errors > 15)
    let missing = needed.filter { need in
      !extensions.contains { $0.hasPrefix(need.0) }
    }.map { "\($0.1) lacks: \($0.0)" }
    #expect(missing.isEmpty, "\(missing.joined(separator: "\n"))")
  }

  @Test func `what an alert shows is what the error says`() {
    let error: any Error = RemoteError(.unreachable, "nobody is there")
    #expect(error.localizedDescription == "nobody is there (unreachable)")
    #expect("\(RemoteError.Code.unreachable)" == "unreachable")
    #expect("\(SchemaError.Code.missingTable)" == "missingTable")
  }
}
