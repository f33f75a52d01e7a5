#if Server
import Foundation
import Testing

@Suite("TernTool: the audit log", .timeLimit(.minutes(1)))
struct AuditCommandTests {
  private let folder: TemporaryFolder
  private let data: [String]

  init() throws {
    folder = try TemporaryFolder()
    data = ["--data", folder.path("server.tern")]
  }

  private func tern(_ arguments: String...) throws -> String {
    let done = try TernProcess.run(arguments + data)
    #expect(done.code == 0, "\(arguments): \(done.errors)")
    return done.output
  }

  @Test func `each command that changes something leaves a record`() throws {
    let replica = String(repeating: "0", count: 31) + "1"
    _ = try tern("token", "create", "--space", "home", "--member", "anna")
    let id = String(try tern("token", "list").prefix(16))
    _ = try tern("token", "rotate", id)
    _ = try tern("token", "revoke", id)
    _ = try tern("space", "create", "work")
    _ = try tern("space", "quota", "home", "--bytes", "5000")
    _ = try tern("space", "quota", "home")
    _ = try tern("space", "suspend", "home")
    _ = try tern("space", "resume", "home")
    _ = try tern("space", "refill", "home")
    _ = try tern("space", "refill", "home", "--close")
    _ = try tern("replica", "ban", "home", replica)
    _ = try tern("replica", "assign", "home", replica, "--member", "anna")
    _ = try tern("replica", "unban", "home", replica)
    _ = try tern("replica", "admit", "home", replica, "--through", "3")
    _ = try tern("space", "delete", "work", "--yes")
    let other = folder.path("other.tern")
    #expect(
      try TernProcess.run("space", "move", "home", "--from", data[1], "--to", other).code == 0)
    func actions(_ path: String, _ more: String...) throws -> [String] {
      try TernProcess.run(["audit", "--data", path] + more).output.split(separator: "\n").map {
        String($0.split(separator: "  ")[3])
      }
    }
    let own = [
      "create-space", "create-token", "rotate-token", "revoke-token", "set-quota", "suspend-space",
      "resume-space", "open-refill", "close-refill", "ban-replica", "assign-replica",
      "unban-replica", "admit-replica", "begin-move", "finish-move",
    ]
    #expect(try actions(data[1], "--space", "home") == own)
    #expect(try actions(data[1], "--space", "work") == ["create-space", "delete-space"])
    // What was before stays where it was written.
    #expect(try actions(other) == ["receive-space"])
    #expect(try !tern("audit").contains("tern_"))
  }
}
#endif
