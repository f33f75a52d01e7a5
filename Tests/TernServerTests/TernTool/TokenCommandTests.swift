#if Server
import Foundation
import Testing

@Suite("TernTool: tokens with an end", .timeLimit(.minutes(1)))
struct TokenCommandTests {
  private let folder: TemporaryFolder
  private let data: [String]

  init() throws {
    folder = try TemporaryFolder()
    data = ["--data", folder.path("server.tern")]
  }

  private func run(_ arguments: String...) throws -> (output: String, errors: String, code: Int32) {
    try TernProcess.run(["token"] + arguments + data)
  }

  /// The lines of the list, the oldest first.
  private func list() throws -> [String] {
    try run("list").output.split(separator: "\n").map(String.init)
  }

  @Test func `a token has a label and an end, and the list says so`() throws {
    #expect(
      try run("create", "--space", "home", "--member", "anna", "--label", "Anna's phone").code == 0)
    #expect(try run("create", "--space", "home", "--expires-in", "90d").code == 0)
    #expect(try run("create", "--space", "home", "--expires", "2100-01-31").code == 0)
    #expect(try run("create", "--space", "home", "--expires", "2100-01-31T12:30:00Z").code == 0)
    let lines = try list()
    #expect(lines.count == 4)
    #expect(lines[0].hasSuffix("home  anna  \"Anna's phone\""))
    #expect(lines[1].contains("  expires 20"))
    #expect(lines[2].hasSuffix("  expires 2100-01-31T00:00:00Z"))
    #expect(lines[3].hasSuffix("  expires 2100-01-31T12:30:00Z"))
  }

  @Test(
    arguments: [
      ["--expires", "2001-01-31"], ["--expires", "tomorrow"], ["--expires-in", "90"],
      ["--expires-in", "0s"], ["--expires-in", "9999w"],
      ["--expires-in", "1d", "--expires", "2100-01-31"], ["--label", ""],
    ])
  func `an end or a label that is none is refused, and makes no token`(_ arguments: [String]) throws
  {
    let refused = try TernProcess.run(["token", "create", "--space", "home"] + arguments + data)
    #expect(refused.code != 0 && refused.output.isEmpty && !refused.errors.isEmpty)
    #expect(try list().isEmpty)
  }

  @Test func `a rotated token keeps its label, and the old one has an end`() throws {
    let old = try run("create", "--space", "home", "--label", "phone").output
    let id = String(try list()[0].prefix(16))
    let rotated = try run("rotate", id, "--grace", "0s", "--expires-in", "1w")
    #expect(rotated.code == 0 && rotated.output.hasPrefix("tern_") && rotated.output != old)
    let lines = try list()
    #expect(lines.count == 2)
    let (first, second) = (lines.first { $0.hasPrefix(id) }, lines.first { !$0.hasPrefix(id) })
    #expect(first?.contains("\"phone\"  expired 20") == true)
    #expect(second?.contains("\"phone\"  expires 20") == true)
    #expect(try run("revoke", "--expired").code == 0)
    #expect(try list() == [second])
    let absent = try run("rotate", id)
    #expect(absent.code != 0 && absent.errors.contains("tern token list"))
  }
}
#endif
