#if Server
import Foundation
import TernCore
import Testing

@testable import TernServer

@Suite("TernTool: moving a space", .timeLimit(.minutes(4)))
struct SpaceMoveCommandTests {
  private let folder: TemporaryFolder
  private let file: String

  init() throws {
    folder = try TemporaryFolder()
    file = folder.path("from.tern")
    let store = try openStore(file)
    let service = SpaceService(store: store, clock: .system)
    var generator = SeededGenerator(state: 3)
    _ = try service.createToken(for: .home, using: &generator)
    var ada = Author(1)
    _ = try service.push(ada.write(count: 5, bytes: 10), to: .home)
    try store.close()
  }

  private func move(_ arguments: [String]) throws -> (output: String, errors: String, code: Int32) {
    try TernProcess.run(["space", "move", "home", "--from", file] + arguments)
  }

  private func checkMoved(to other: [String], _ data: [String]) throws {
    let moved = try move(other)
    #expect(moved.code == 0 && moved.output.contains("space home is moved"), "\(moved.errors)")
    #expect(try move(other).output.contains("moved there before"))
    let list = try TernProcess.run("space", "list", "--data", file).output
    #expect(list.contains("home  5 operations, 1 token, moved to another store"))
    let there = try TernProcess.run(["space", "list"] + data).output
    #expect(there.contains("home  5 operations, 1 token\n"))
    #expect(try TernProcess.run("doctor", file).output.contains("space-moving"))
    let over = try move(other + ["--cancel"])
    #expect(over.code == 64 && over.errors.contains("is served where it was moved to"))
    #expect(
      try TernProcess.run("space", "delete", "home", "--yes", "--data", file).code == 0)
    #expect(try move(other).errors.contains("there is no space home"))
  }

  @Test func `to a file that is made`() throws {
    let other = folder.path("to.tern")
    try checkMoved(to: ["--to", other], ["--data", other])
    #expect(try TernProcess.run("doctor", other).code == 0)
  }

  #if PostgreSQL
  @Test(.enabled(if: TestDatabase.address != nil, "script/test starts a database"))
  func `to a database`() throws {
    let database = try TestDatabase()
    let address = try #require(TestDatabase.address)
    try checkMoved(
      to: ["--to", address, "--to-schema", database.schema],
      ["--data", address, "--schema", database.schema])
  }
  #endif

  @Test func `what is asked wrongly is refused, and makes nothing`() throws {
    let other = folder.path("to.tern")
    for arguments in [
      [], ["--to", other, "--lost"], ["--lost"], ["--to", other, "--cancel", "--lost"],
    ] {
      #expect(try move(arguments).code == 64)
    }
    let secret = try move(["--to", "postgresql://tern:secret@127.0.0.1/t"]).errors
    #expect(secret.contains("--to has a password") && secret.contains("--to-password-file"))
    #expect(try move(["--to", other, "--from-password-file", "x"]).errors.contains("leave it out"))
    #expect(try move(["--to", other, "--cancel"]).errors.contains("there is no file"))
    #expect(try move(["--to", file]).errors.contains("is in that store"))
    #expect(try move(["--cancel", "--lost"]).errors.contains("not on its way"))
    #expect(!FileManager.default.fileExists(atPath: other))
    let absent = try TernProcess.run(
      "space", "move", "none", "--from", folder.path("none.tern"), "--to", other)
    #expect(absent.code != 0 && absent.errors.contains("there is no file"))
  }

  @Test func `a move that stopped is taken back`() throws {
    let other = folder.path("to.tern")
    let (source, target) = (try openStore(file), try openStore(other, seed: 2))
    #expect(throws: Killed.self) {
      try SpaceMove(
        .home, from: source, to: target, willDo: { if $0 == .settle { throw Killed() } }
      ).run()
    }
    try source.close()
    try target.close()
    let list = try TernProcess.run("space", "list", "--data", file).output
    #expect(list.contains("frozen until its move is finished"))
    let taken = try move(["--to", other, "--cancel"])
    #expect(taken.code == 0 && taken.output.contains("served where it is"))
    #expect(try TernProcess.run("space", "list", "--data", file).output.hasSuffix("1 token\n"))
    #expect(try TernProcess.run("space", "list", "--data", other).output.isEmpty)
  }
}
#endif
