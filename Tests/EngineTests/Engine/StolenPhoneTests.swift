#if Server
import Foundation
import GRDB
import Tern
import TernNetwork
import TernServer
import TestDevice
import TestProcesses
import Testing

/// The drill of `Docs/Server.md`, with the server and its commands as processes.
@Suite("Engine: a stolen phone", .timeLimit(.minutes(2)))
struct StolenPhoneTests {
  /// `tern serve` over a file, and what its operator types.
  private final class House {
    let folder: URL
    let process: ChildProcess
    let url: URL
    var data: String { folder.appending(path: "data.tern").path }

    init() throws {
      folder = FileManager.default.temporaryDirectory
        .appending(path: "tern-stolen-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let path = folder.appending(path: "data.tern").path
      process = try ChildProcess(
        BuiltExecutable.path("tern"), arguments: ["serve", "--data", path, "--port", "0"])
      var line = ""
      while !line.contains("\n"), let bytes = process.read() {
        line += String(decoding: bytes, as: UTF8.self)
      }
      let address = try #require(line.split(whereSeparator: \.isWhitespace).last)
      url = try #require(URL(string: String(address)))
    }

    func end() {
      process.kill(SIGTERM)
      process.endInput()
      _ = process.wait()
      try? FileManager.default.removeItem(at: folder)
    }

    /// Runs a command that the page has, with its capital words filled in.
    @discardableResult
    func command(_ text: String, _ words: [String: String] = [:]) async throws -> String {
      let page = try String(
        contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
          .appending(path: "../../../Docs/Server.md"), encoding: .utf8)
      #expect(page.contains(text), "the page has no “\(text)”")
      let words = ["FILE": data, "SPACE": "home", "NAME": "home"].merging(words) { $1 }
      let parts = text.split(separator: " ").dropFirst().map { words[String($0)] ?? String($0) }
      let (output, code) = try await run([BuiltExecutable.path("tern")] + parts)
      #expect(code == 0, "\(text): \(output)")
      return output.trimmingCharacters(in: .newlines)
    }

    func token(_ member: String) async throws -> String {
      try await command(
        "tern token create --data FILE --space NAME --member WHO", ["WHO": member])
    }

    func remote(_ token: String) -> HTTPRemote {
      HTTPRemote(url, space: "home", token: { token }, over: CurlTransport.shared)
    }
  }

  @Test func `ends with everything back, and nothing of the thief's taken any more`() async throws {
    let house = try House()
    defer { house.end() }
    let (annas, bobs) = (try await house.token("anna"), try await house.token("bob"))
    let anna = try await Device { _ in [house.remote(annas)] }
    let stolen = try await Device { _ in [house.remote(bobs)] }
    for number in 1...20 {
      try await anna.execute("INSERT INTO item VALUES ('\(number)', 'book \(number)', 1)")
      try anna.store.seal()
    }
    try await stolen.execute("INSERT INTO item VALUES ('bob', 'of Bob', 1)")
    for device in [anna, stolen, anna, stolen] { try await device.syncOnce() }
    let before = try await anna.column("SELECT id || text || count FROM item ORDER BY id")
    let (annasID, id) = (try anna.store.replicaID(), try stolen.store.replicaID())
    let last = try stolen.store.ownHead().sequence

    // The thief deletes, overwrites, and lies in Anna's name.
    try await stolen.execute("UPDATE item SET text = 'spoilt', count = count + 7 WHERE id > '5'")
    try stolen.store.seal()
    try await stolen.execute("DELETE FROM item WHERE id <= '5'")
    try await stolen.syncOnce()
    let thief = house.remote(bobs)
    let forged = SyncOperation(
      .init(
        replica: annasID, sequence: try anna.store.ownHead().sequence + 1,
        time: HybridTime(milliseconds: Int64(Date().timeIntervalSince1970 * 1000) + 1000)),
      body: [])
    let refused = await #expect(throws: RemoteError.self) { _ = try await thief.push([forged]) }
    #expect(refused?.code == .authorClaimed)
    try await anna.syncOnce()
    #expect(try await anna.column("SELECT id FROM item WHERE text <> 'spoilt'") == [])

    // Bob calls the operator.
    try await house.command("tern token revoke --data FILE --member WHO", ["WHO": "bob"])
    let list = try await house.command("tern replica list --data FILE SPACE")
    let line = try #require(list.split(separator: "\n").first { $0.contains("of bob") })
    #expect(line.hasPrefix("\(id)"))
    try await house.command("tern replica ban --data FILE SPACE ID", ["ID": "\(id)"])
    let shut = await #expect(throws: RemoteError.self) { try await stolen.syncOnce() }
    #expect(shut?.code == .unauthorized)

    // A new phone for Bob, and Anna takes back what the thief did.
    let renewed = try await house.token("bob")
    let phone = try await Device { _ in [house.remote(renewed)] }
    try await phone.syncOnce()
    let history = try await phone.replica.history("item", key: ["7"]).changes
    #expect(history.map(\.member) == ["anna", "bob"] && history[1].stamp.author == id)
    let reverted = try await anna.replica.revert(author: id, after: last)
    #expect(!reverted.isNothing && !reverted.rows.contains { $0.action == .left })
    for device in [anna, phone] { try await device.syncOnce() }
    for device in [anna, phone] {
      #expect(try await device.column("SELECT id || text || count FROM item ORDER BY id") == before)
    }
    // With a token of Bob's it would still be taken from nobody.
    try await stolen.execute("DELETE FROM item")
    try stolen.store.seal()
    let heads = try await house.remote(renewed).greet().heads
    let late = try stolen.store.operations(lackedBy: heads, maximumBytes: .max)
    let banned = await #expect(throws: RemoteError.self) {
      _ = try await house.remote(renewed).push(late.filter { $0.envelope.replica == id })
    }
    #expect(banned?.code == .authorBanned)
    let doctor = try await run([BuiltExecutable.path("tern"), "doctor", house.data])
    #expect(doctor.code == 0, "\(doctor.output)")
  }
}
#endif
