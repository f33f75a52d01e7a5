#if Server
import Foundation
import GRDB
import Tern
import TernServer
import TernTesting
import TestDevice
import Testing

/// Two files that began as one: a restored backup, or a copy.
@Suite("Engine: two files that began as one", .timeLimit(.minutes(2)))
struct IDChangeTests {
  /// A phone that knows the server already, and another one with a copy of its file.
  private func copies(
    _ server: Server, logRetention: Duration = Replica.defaultLogRetention,
    _ before: (Device) async throws -> Void = { _ in },
    _ body: (_ phone: Device, _ copy: Device) async throws -> Void
  ) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "tern-copies-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    func phone(_ name: String) async throws -> Device {
      try await Device(path: folder.appending(path: name).path, logRetention: logRetention) { _ in
        [try Server.remote(port: server.port)]
      }
    }
    let first = try await phone("phone.sqlite")
    for number in 1...3 {
      try await first.execute("INSERT INTO item VALUES ('\(number)', 'before', 1)")
      try first.replica.store.seal()
    }
    try await first.syncOnce()
    try await before(first)
    try first.database.backup(to: DatabaseQueue(path: folder.appending(path: "copy.sqlite").path))
    let copy = try await phone("copy.sqlite")
    #expect(try copy.replica.store.replicaID() == first.replica.store.replicaID())
    try await body(first, copy)
  }

  private func write(_ phone: Device, _ ids: String...) async throws {
    for id in ids {
      try await phone.execute("INSERT INTO item VALUES ('\(id)', '', 1)")
      try await phone.execute("UPDATE item SET count = count + 10 WHERE id = '1'")
      try phone.replica.store.seal()
    }
  }

  /// All three have everything, once.
  private func expectAll(_ server: Server, _ phone: Device, _ copy: Device, count: String)
    async throws
  {
    let other = try await Device(server.port)
    for phone in [phone, copy, phone, other] { try await phone.syncOnce() }
    let states = try [phone, copy, other].map { try $0.replica.store.canonicalState() }
    #expect(states[0] == states[1] && states[1] == states[2])
    for phone in [phone, copy, other] {
      #expect(try await phone.column("SELECT count FROM item WHERE id = '1'") == [count])
      let diagnosis = try await phone.database.read { try DatabaseDiagnosis($0) }
      #expect(diagnosis.findings.isEmpty, "\(diagnosis.findings)")
    }
  }

  @Test(
    "INV-02: a restored backup goes on under a new id, and takes what it lacks",
    arguments: [[], ["x"], ["x", "y", "z", "w"]])
  func restored(_ ids: [String]) async throws {
    try await Server.run(Server.memoryStore(seed: 1)) { server in
      try await copies(server) { phone, copy in
        let id = try phone.replica.store.replicaID()
        try await write(phone, "a", "b")
        try await phone.syncOnce()
        // Fewer than the server has, none, or more.
        for id in ids { try await write(copy, id) }
        try await copy.syncOnce()
        let change = try #require(copy.engine.status.current.idChange)
        #expect(change.former == id && change.last == 3)
        #expect(try copy.replica.store.replicaID() == change.current && change.current != id)
        #expect(phone.engine.status.current.idChange == nil)
        let sum = 1 + 10 * (2 + ids.count)
        try await expectAll(server, phone, copy, count: "\(sum)")
        // And from there on.
        try await write(copy, "later")
        try await write(phone, "later still")
        try await expectAll(server, phone, copy, count: "\(sum + 20)")
        #expect(copy.engine.status.current.idChange == change)
      }
    }
  }

  /// - Parameter isTrimmed: whether the server has a snapshot in the place of what both files share.
  @Test(
    "INV-02: a backup whose log was trimmed goes on under a new id too",
    arguments: [[], ["x"], ["x", "y", "z", "w"]], [false, true])
  func trimmed(_ ids: [String], _ isTrimmed: Bool) async throws {
    var limits = ServerLimits()
    if isTrimmed { (limits.operationsPerSnapshot, limits.retention) = (3, .zero) }
    try await Server.run(Server.memoryStore(seed: 2), limits: limits) { server in
      try await copies(
        server, logRetention: .seconds(-60),
        { phone in
          try await write(phone, "4", "5")
          for _ in 1...3 { try await phone.syncOnce() }
          #expect(try phone.replica.store.hasTrimmed(lackedBy: VersionVector()))
        }
      ) { phone, copy in
        let id = try phone.replica.store.replicaID()
        try await write(phone, "a", "b")
        try await phone.syncOnce()
        for id in ids { try await write(copy, id) }
        try await copy.syncOnce()
        let change = try #require(copy.engine.status.current.idChange)
        #expect(change.former == id && change.last == 5)
        let sum = 1 + 10 * (4 + ids.count)
        try await expectAll(server, phone, copy, count: "\(sum)")
        try await write(copy, "later")
        try await write(phone, "later still")
        try await expectAll(server, phone, copy, count: "\(sum + 20)")
      }
    }
  }

  @Test("what no answer came for is the same under both ids, and is not written twice")
  func unanswered() async throws {
    try await Server.run(Server.memoryStore(seed: 3)) { server in
      try await copies(
        server,
        { phone in
          // The server has it, and the phone was never told.
          try await write(phone, "sent")
          let store = phone.replica.store
          let sent = try store.offer(
            lackedBy: VersionVector([store.replicaID(): 3]), repeating: [], maximumBytes: .max,
            to: Server.remote(port: server.port).id)
          _ = try server.service.push(sent, to: SpaceName(Server.space))
        }
      ) { phone, copy in
        try await write(phone, "a")
        try await phone.syncOnce()
        try await write(copy, "x")
        try await copy.syncOnce()
        #expect(copy.engine.status.current.idChange?.last == 4)
        try await expectAll(server, phone, copy, count: "31")
      }
    }
  }

  @Test("what another remote may have under the id keeps it, and the refusal says so")
  func elsewhere() async throws {
    try await Server.run(Server.memoryStore(seed: 4)) { server in
      try await copies(server) { phone, copy in
        try await write(phone, "a")
        try await phone.syncOnce()
        try await write(copy, "x")
        _ = try copy.replica.store.offer(
          lackedBy: VersionVector(), repeating: [], maximumBytes: .max, to: "another")
        let id = try copy.replica.store.replicaID()
        let error = await #expect(throws: RemoteError.self) { try await copy.syncOnce() }
        #expect(error?.code == .sequenceConflict && error?.replica == id)
        #expect(try copy.replica.store.replicaID() == id)
        #expect(copy.engine.status.current.idChange == nil)
        #expect(try await copy.column("SELECT id FROM item WHERE text = ''") == ["x"])
      }
    }
  }

  @Test("a copy that stays refused keeps what it wrote, whatever the server has in its name")
  func refused() async throws {
    try await Server.run(Server.memoryStore(seed: 5)) { server in
      try await copies(
        server, logRetention: .seconds(-60),
        { phone in
          let isTrimmed = try phone.replica.store.hasTrimmed(lackedBy: VersionVector())
          #expect(isTrimmed)
        }
      ) { phone, copy in
        let id = try phone.replica.store.replicaID()
        try await write(phone, "a", "b", "c")
        try await phone.syncOnce()
        let other = try await Device(server.port)
        try await other.syncOnce()
        try await write(other, "knows it")
        // A page that was on its way, and leaves out what has the copy's own id.
        let answer = try other.replica.store.operations(
          lackedBy: VersionVector([id: .max]), maximumBytes: .max)
        _ = try copy.replica.store.merge(
          PulledPage(
            operations: answer, cursor: RemoteCursor(rawValue: "1"), hasMore: false,
            now: nil),
          from: RemotePlace(remoteID: "way", epoch: "e", cursor: nil))
        try await copy.database.write { try $0.execute(sql: "DELETE FROM grdb_tern_main_remote") }
        try await write(copy, "w", "x", "y", "z")
        let error = await #expect(throws: RemoteError.self) { try await copy.syncOnce() }
        #expect(error?.code == .sequenceConflict && error?.replica == id)
        #expect(try copy.replica.store.replicaID() == id)
        let own = try copy.replica.store.operations(
          lackedBy: VersionVector([id: 3]), maximumBytes: .max
        ).filter { $0.envelope.replica == id }
        #expect(own.count == 4)
      }
    }
  }
}
#endif
