#if Server
import Foundation
import GRDB
import Tern
import TernServer
import TestDevice
import Testing

/// Two copies of one database wrote on under one id, and nobody refused either. A device that meets
/// both tells them, and each says so.
@Suite("Engine: copies that nobody refused are told", .timeLimit(.minutes(2)))
struct ToldForkTests {
  private func inFolder(_ body: (URL) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "tern-told-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder)
  }

  private func write(_ device: Device, _ id: String) async throws {
    try await device.execute("INSERT INTO item VALUES ('\(id)', '', 1)")
  }

  private func ids(_ device: Device) async throws -> [String] {
    try await device.column("SELECT id FROM item ORDER BY id")
  }

  /// A sync that does everything and then says that there are two copies.
  private func syncForked(_ engine: SyncEngine, _ author: ReplicaID) async throws -> RemoteError {
    let error = await #expect(throws: RemoteError.self) { try await engine.syncOnce() }
    #expect(error?.code == .sequenceConflict && error?.replica == author)
    #expect(engine.status.current.lastError == error)
    return try #require(error)
  }

  @Test func `a copy that never synced, and a server that forgot: both sides say it`() async throws
  {
    try await inFolder { folder in
      func device(_ name: String, _ port: Int) async throws -> Device {
        try await Device(path: folder.appending(path: name).path) { _ in
          [try Server.remote(port: port)]
        }
      }
      var (port, tablet, author) = (0, Device?.none, ReplicaID?.none)
      try await Server.run(Server.memoryStore(seed: 1)) { server in
        port = server.port
        let phone = try await device("phone", port)
        try phone.database.backup(
          to: DatabaseQueue(path: folder.appending(path: "restored").path))
        tablet = try await device("tablet", port)
        author = try phone.replica.store.replicaID()
        try await write(phone, "one")
        try await write(tablet!, "on the tablet")
        for device in [phone, tablet!, phone] { try await device.syncOnce() }
      }
      let (b, id) = (try #require(tablet), try #require(author))
      let a = try await device("restored", port)
      try await Server.run(Server.memoryStore(seed: 2), port: port) { _ in
        try await write(a, "two")
        try await a.syncOnce()
        let met = try await syncForked(b.engine, id)
        #expect(met.message.contains("an empty database"))
        #expect(b.engine.status.current.forks.map(\.witness) == [nil])

        // Until now it was told nothing. What it is told is in words.
        let told = try await syncForked(a.engine, id)
        let witness = try b.replica.store.replicaID()
        #expect(told.message.contains("\(witness)") && told.message.contains("\(id)"))
        #expect(told.message.contains("an empty database"))
        let fork = try #require(try await a.replica.counts().forks.first)
        #expect(fork.witness == witness && fork.replica == id && fork.sequence == 1)
        #expect(a.engine.status.current.forks == [fork])

        // It is another one now, so that what it writes from here on is taken everywhere.
        #expect(a.engine.status.current.idChange?.former == id)
        try await write(a, "three")
        for _ in 1...2 { try await a.syncOnce() }
        _ = try await syncForked(b.engine, id)
        #expect(try await ids(b) == ["on the tablet", "one", "three"])
        #expect(try await ids(a) == ["on the tablet", "three", "two"])

        // The way out: nothing is named any more once the file that met both is gone.
        let new = try await device("new", port)
        try await new.syncOnce()
        #expect(try await ids(new) == ["on the tablet", "three", "two"])
        #expect(new.engine.status.current.forks == [])
        var isKnown = try await a.replica.forget(remoteID: fork.remote)
        #expect(isKnown)
        isKnown = try await a.replica.forget(remoteID: fork.remote)
        #expect(!isKnown)
        for device in [a, new] { try await device.syncOnce() }
        #expect(a.engine.status.current.forks == [] && a.engine.status.current.phase == .upToDate)
        #expect(
          try a.replica.store.canonicalState() == new.replica.store.canonicalState())
      }
    }
  }

  @Test(
    "copies at two remotes are both told, and what they write then reaches everybody",
    arguments: [true, false])
  func both(isFolder: Bool) async throws {
    try await inFolder { folder in
      try await Share.run { share in
        try await Server.run(Server.memoryStore(seed: 1)) { first in
          try await Server.run(Server.memoryStore(seed: 2)) { second in
            func path(_ name: String) -> String { folder.appending(path: name).path }
            func one(_ replica: Replica) throws -> any Remote {
              if isFolder { return share.remote(replica) }
              return try Server.remote(port: first.port)
            }
            func two() throws -> any Remote { try Server.remote(port: second.port) }
            let phone = try await Device(path: path("phone")) { [try one($0)] }
            try phone.database.backup(to: DatabaseQueue(path: path("copy")))
            let copy = try await Device(path: path("copy")) { _ in [try two()] }
            let tablet = try await Device { [try one($0), try two()] }
            let id = try phone.replica.store.replicaID()
            try await write(phone, "phone")
            try await write(copy, "copy")
            try await write(tablet, "tablet")
            for device in [phone, copy] { try await device.syncOnce() }
            try await tablet.engines[0].syncOnce()
            let fork = try await syncForked(tablet.engines[1], id)
            #expect(fork.sequence == 1)
            try await tablet.engines[0].syncOnce()

            for device in [phone, copy] {
              _ = try await syncForked(device.engine, id)
              #expect(device.engine.status.current.idChange?.former == id)
            }
            try await write(phone, "phone again")
            try await write(copy, "copy again")
            for device in [phone, copy] { try await device.syncOnce() }
            for _ in 1...2 {
              try await tablet.engines[0].syncOnce()
              _ = try await syncForked(tablet.engines[1], id)
            }
            for device in [phone, copy] { try await device.syncOnce() }
            let all = ["copy again", "phone again", "tablet"]
            #expect(try await ids(phone) == (all + ["phone"]).sorted())
            #expect(try await ids(copy) == (all + ["copy"]).sorted())
            #expect(try await ids(tablet) == (all + ["phone"]).sorted())

            // It told once, and no undo is about that.
            let operations = try tablet.replica.store.ownHead().sequence
            #expect(operations == 2)
            _ = try await tablet.replica.undo()
            let left = try await ids(tablet)
            #expect(left == (all + ["phone"]).filter { $0 != "tablet" }.sorted())
          }
        }
      }
    }
  }
}
#endif
