#if Server
import Foundation
import GRDB
import Tern
import TernNetwork
import TernServer
import TernTesting
import TestDevice
import TestProcesses
import Testing

/// A peer with a good token and bad intentions, over real sockets.
private struct Attacker {
  static let id = ReplicaID(high: 0xBAD, low: 0xBAD)
  let port: Int
  let remote: HTTPRemote
  private let token: String

  init(_ server: Server) throws {
    port = server.port
    remote = try Server.remote(port: server.port)
    token = try Server.token()
  }

  static func operation(
    _ sequence: UInt64 = 1, at milliseconds: Int64 = 1_700_000_000_000, by author: ReplicaID = id,
    _ build: (inout ByteWriter) -> Void = { _ in }
  ) -> SyncOperation {
    var body = ByteWriter()
    build(&body)
    return SyncOperation(
      .init(replica: author, sequence: sequence, time: HybridTime(milliseconds: milliseconds)),
      body: body.bytes)
  }

  static func operation(
    _ sequence: UInt64, table: String, column: String = "text", _ value: [UInt8]
  ) -> SyncOperation {
    operation(sequence, at: 1_700_000_000_000 + Int64(sequence)) {
      $0.append(
        block: BodyBlock(
          table: table, keyColumns: ["id"], columns: [.init(name: column, rule: 0)]))
      $0.append(row: .insert, life: 1)
      $0.append(SQLiteValue.string("forged \(sequence)"))
      $0.append(raw: value)
      $0.appendEndOfBlock()
    }
  }

  func refusal(of operations: [SyncOperation]) async -> RemoteError? {
    await #expect(throws: RemoteError.self) { _ = try await remote.push(operations) }
  }

  /// Status and problem code of a push whose body is given, with its length told or not.
  func push(_ body: [UInt8]) async throws -> (status: Int, problem: String?) {
    var request = HTTPRequest(
      .post, "http://127.0.0.1:\(port)/v1/spaces/\(Server.space)/operations",
      headers: [
        "Authorization": "Bearer " + token, "Content-Type": "application/vnd.tern.batch",
      ])
    request.body = .bytes(body)
    let response = try await CurlTransport.shared.send(request)
    let bytes = try await response.collect(limit: 1 << 20)
    let document = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
    let type = document?["type"] as? String
    return (response.status, type.map { String($0.dropFirst("urn:tern:problem:".count)) })
  }
}

/// Attacks on a server that two honest devices use: each is refused by name or changes nothing that
/// is theirs.
@Suite("Service: pushes of a hostile peer", .timeLimit(.minutes(3)))
struct HostilePushTests {
  /// Runs an attack between two devices' exchanges, and compares what they have.
  private func attack(
    limits: ServerLimits = ServerLimits(), _ body: (Attacker, Device, Device) async throws -> Void
  ) async throws {
    try await Server.run(Server.memoryStore(seed: 1), limits: limits) { server in
      let (a, b) = (try await Device(server.port), try await Device(server.port))
      try await a.execute("INSERT INTO item VALUES ('a', 'from a', 1)")
      try await b.execute("INSERT INTO item VALUES ('b', 'from b', 2)")
      for phone in [a, b, a] { try await phone.engine.syncOnce() }
      let before = try a.replica.store.canonicalState()
      try #require(before.count == 2)
      try await body(Attacker(server), a, b)
      try await a.execute("UPDATE item SET count = count + 4 WHERE id = 'b'")
      try await b.execute("INSERT INTO item VALUES ('later', 'from b', 3)")
      for phone in [a, b, a] { try await phone.engine.syncOnce() }
      #expect(try a.replica.store.canonicalState() == b.replica.store.canonicalState())
      for phone in [a, b] {
        let rows = try await phone.database.read {
          try String.fetchAll(
            $0, sql: "SELECT id || text || count FROM item WHERE id NOT LIKE 'forged%' ORDER BY id")
        }
        #expect(rows == ["afrom a1", "bfrom b6", "laterfrom b3"])
        #expect(phone.engine.status.current.unpushed == 0)
      }
    }
  }

  @Test func `future times, gaps, times that stand and reused numbers are refused by name`()
    async throws
  {
    try await attack { attacker, _, _ async throws in
      let now = Int64(Date().timeIntervalSince1970 * 1000)
      for time in [now + 360_000, HybridTime.maximumMilliseconds] {
        let error = await attacker.refusal(of: [Attacker.operation(at: time)])
        #expect(error?.code == .timeAhead && error?.now != nil)
      }
      for sequence in [2, VersionVector.maximumSequence] {
        let error = await attacker.refusal(of: [Attacker.operation(sequence)])
        #expect(error?.code == .sequenceGap && error?.sequence == sequence)
      }
      let pair = [Attacker.operation(1), Attacker.operation(2)]
      #expect(await attacker.refusal(of: pair)?.code == .timeNotIncreasing)
      let other = Attacker.operation(1) { $0.append(raw: [0]) }
      #expect(await attacker.refusal(of: [pair[0], other])?.code == .sequenceConflict)
      #expect(try await attacker.remote.push([pair[0]]).accepted == 1)
      #expect(await attacker.refusal(of: [other])?.code == .sequenceConflict)
    }
  }

  @Test func `what is forged in a device's name costs that device its id, and nobody a row`()
    async throws
  {
    try await Server.run(Server.memoryStore(seed: 1)) { server in
      let (a, b) = (try await Device(server.port), try await Device(server.port))
      try await a.execute("INSERT INTO item VALUES ('a', 'from a', 1)")
      for phone in [a, b] { try await phone.engine.syncOnce() }
      let id = try a.replica.store.replicaID()
      let now = Int64(Date().timeIntervalSince1970 * 1000) + 60_000
      let attacker = try Attacker(server)
      #expect(
        await attacker.refusal(of: [Attacker.operation(1, by: id)])?.code == .sequenceConflict)
      _ = try await attacker.remote.push([Attacker.operation(2, at: now, by: id)])
      // It has a second operation of its own by now, and later is told of one that it never made.
      try await a.execute("INSERT INTO item VALUES ('kept', 'from a', 1)")
      try await a.engine.syncOnce()
      let first = try #require(a.engine.status.current.idChange)
      #expect(first.former == id && first.last == 1)
      _ = try await attacker.remote.push([Attacker.operation(2, at: now, by: first.current)])
      try await a.engine.syncOnce()
      let second = try #require(a.engine.status.current.idChange)
      #expect(second.former == first.current && second.last == 1)
      #expect(try a.replica.store.canonicalState().count == 2)
      try await b.execute("INSERT INTO item VALUES ('b', 'from b', 1)")
      let c = try await Device(server.port)
      for phone in [b, c] { try await phone.engine.syncOnce() }
      #expect(try b.replica.store.canonicalState() == c.replica.store.canonicalState())
      #expect(try c.replica.store.canonicalState().count == 3)
      try await a.engine.syncOnce()
      #expect(try a.replica.store.canonicalState() == c.replica.store.canonicalState())
    }
  }

  @Test func `unknown tables, names full of SQL and bodies that can't be read pass through`()
    async throws
  {
    let names = ["'; DROP TABLE operation; --", "item\"; DELETE FROM item; --", "no such table"]
    try await attack { attacker, a, b async throws in
      var operations = names.enumerated().map { number, name in
        Attacker.operation(UInt64(number + 1), table: name, column: name, [0])
      }
      let bad: [[UInt8]] = [[4] + [UInt8](repeating: 0xFF, count: 8), [0xFD, 0xFF, 0x7F]]
      for value in bad {
        let sequence = UInt64(operations.count + 1)
        operations.append(Attacker.operation(sequence, table: "item", value))
      }
      operations.append(
        Attacker.operation(6, table: "item", [4, 0, 0, 0, 0, 0, 0, 0, 0x80]))
      operations.append(Attacker.operation(7, at: 1_700_000_000_007) { $0.append(raw: [2, 0xC3]) })
      #expect(try await attacker.remote.push(operations).accepted == 7)
      for phone in [a, b] {
        try await phone.engine.syncOnce()
        let counts = try phone.replica.store.counts()
        #expect(counts.pending[.schema] == 3)
        #expect(counts.pending[.unreadable] == 3)
        #expect(counts.pending.first?.replica == Attacker.id)
        let row = try phone.replica.store.canonicalState().first { $0.key == ["forged 6"] }
        // What SQLite makes of it in a column that holds text.
        #expect(row?.cells["text"]?.value == "0.0")
      }
    }
  }

  @Test func `a byte over each limit is refused`() async throws {
    try await attack { attacker, _, _ async throws in
      let limit = ServerLimits().bodyBytes
      let over = try await attacker.push([UInt8](repeating: 0, count: limit + 1))
      #expect(over == (413, "too-large"))
      let fits = try await attacker.push([UInt8](repeating: 0, count: limit))
      #expect(fits == (400, "unsupported-version"))
      let many = (1...UInt64(OperationBatch.Limit.operations) + 1).map {
        Attacker.operation($0, at: Int64($0))
      }
      #expect(await attacker.refusal(of: many)?.code == .tooLarge)
      let head = Array("TRN1".utf8)
      var long = ByteWriter()
      long.append(raw: head + [0, 1])
      let length = SyncOperation.Limit.bytes + 1
      long.append(varint: UInt64(length + 5))
      long.append(byte: 0)
      long.append(varint: UInt64(length))
      long.append(raw: [UInt8](repeating: 1, count: length))
      #expect(try await attacker.push(long.bytes) == (413, "too-large"))
    }
  }

  @Test func `replicas that are made up are refused at a limit, and the others go on`() async throws
  {
    var limits = ServerLimits()
    limits.replicasPerSpace = 8
    try await attack(limits: limits) { attacker, _, _ async throws in
      func forged(_ numbers: ClosedRange<UInt64>) -> [SyncOperation] {
        numbers.map { Attacker.operation(by: ReplicaID(high: 0xBAD, low: $0)) }
      }
      let limits = [(UInt64(7), "replicasPerSpace"), (3, "authorsPerMember")]
      for (count, limit) in limits {
        let error = await attacker.refusal(of: forged(1...count))
        #expect(error?.code == .tooManyReplicas)
        #expect(error?.message.contains(limit) == true)
      }
      #expect(try await attacker.remote.push(forged(1...2)).accepted == 2)
      #expect(await attacker.refusal(of: forged(3...3))?.code == .tooManyReplicas)
    }
  }

  @Test func `bombs are refused in bounded memory`() async throws {
    let zeros = [UInt8](repeating: 0, count: OperationBatch.Limit.bytes + 1)
    let bomb = zeros.withUnsafeBytes { Deflate.compress($0, level: 9)! }
    func frame(_ length: Int) -> [UInt8] {
      var writer = ByteWriter()
      writer.append(raw: Array("TRN1".utf8) + [1, 1])
      writer.append(varint: UInt64(length))
      writer.append(raw: bomb)
      return writer.bytes
    }
    try await attack { attacker, _, _ async throws in
      let more = try await peakMemory { () async throws in
        for _ in 0..<10 {
          #expect(try await attacker.push(frame(zeros.count)) == (413, "too-large"))
          #expect(try await attacker.push(frame(zeros.count - 1)) == (400, "malformed"))
          #expect(try await attacker.push(frame(64)) == (400, "malformed"))
        }
      }
      print("30 bombs of \(bomb.count >> 10) KiB: \(more >> 20) MiB more at most")
      #expect(more < 128 << 20)
    }
  }

  @Test func `pushes full of tiny operations reach the devices in bounded memory`() async throws {
    try await attack { attacker, _, b async throws in
      let more = try await peakMemory { () async throws in
        for push in UInt64(0)..<3 {
          let first = push * 10_000 + 1
          let tiny = (first..<first + 10_000).map { sequence in
            Attacker.operation(sequence, at: 1_700_000_000_000 + Int64(sequence))
          }
          #expect(try await attacker.remote.push(tiny).accepted == 10_000)
        }
        try await b.engine.syncOnce()
      }
      // The server's space and the device's database are in memory too.
      print("30000 tiny operations: \(more >> 20) MiB more at most")
      #expect(more < 256 << 20)
    }
  }
}
#endif
