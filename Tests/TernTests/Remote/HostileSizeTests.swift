import Foundation
import Rehearsals
import ReplicaStoreKit
import Synchronization
import Tern
import TestProcesses
import Testing

/// What is too much: refused by name where a limit says so, and otherwise merged in bounded memory.
@Suite("Remote: what is too much is refused, or merged in bounded memory", .timeLimit(.minutes(3)))
struct HostileSizeTests {
  private func bomb(_ length: Int) -> [UInt8] {
    [UInt8](repeating: 0, count: length).withUnsafeBytes { Deflate.compress($0, level: 9)! }
  }

  @Test func `what is measured is seen`() async throws {
    let more = try await peakMemory {
      let bytes = [UInt8](repeating: 1, count: 64 << 20)
      #expect(bytes.last == 1)
    }
    #expect(more > 60 << 20)
  }

  @Test func `a byte over each limit of an answer is refused`() async throws {
    let limit = OperationBatch.Limit.bytes
    let fill = [UInt8](repeating: 0, count: limit + 1)
    try await HostileMeeting.refuses(
      HostileTransport.frame(compression: 0, count: 0, length: limit + 1, fill), "limit")
    try await HostileMeeting.refuses([UInt8](repeating: 0, count: limit + 65), "limit")
    try await HostileMeeting.refuses(
      HostileTransport.frame(compression: 0, count: 10_001, length: 0, []), "limit")
    var long = ByteWriter()
    long.append(byte: 0)
    long.append(varint: UInt64(SyncOperation.Limit.bytes + 1))
    long.append(raw: Array(fill.prefix(SyncOperation.Limit.bytes + 1)))
    try await HostileMeeting.refuses(
      HostileTransport.frame(compression: 0, count: 1, length: long.count, long.bytes),
      "operation is over its limit"
    )
  }

  @Test func `a greeting over its limit is refused`() async throws {
    let meeting = try await HostileMeeting(.sqlite)
    let padding = String(repeating: " ", count: 16 << 20)
    let transport = HostileTransport(batch: [], greeting: padding + "{}")
    let error = await #expect(throws: RemoteError.self) {
      try await meeting.sync(with: transport.remote)
    }
    #expect(error?.code == .unexpectedAnswer)
    try await meeting.checkIntact()
  }

  @Test func `a compressed bomb is refused, and takes no more room than a batch may`() async throws
  {
    let (largest, over) = (bomb(OperationBatch.Limit.bytes), bomb(OperationBatch.Limit.bytes + 1))
    let more = try await peakMemory {
      // It says what it is; it says less; it says no more than allowed and is more.
      try await HostileMeeting.refuses(
        HostileTransport.frame(
          compression: 1, count: 1, length: OperationBatch.Limit.bytes + 1, over),
        "limit")
      try await HostileMeeting.refuses(
        HostileTransport.frame(compression: 1, count: 1, length: 100, largest), "compressed data")
      try await HostileMeeting.refuses(
        HostileTransport.frame(compression: 1, count: 1, length: OperationBatch.Limit.bytes, over),
        "compressed data")
      // As long as it says, and full of nothing.
      try await HostileMeeting.refuses(
        HostileTransport.frame(
          compression: 1, count: 10_000, length: OperationBatch.Limit.bytes, largest),
        "operation")
    }
    print("bombs: \(more >> 20) MiB more at most")
    #expect(more < 128 << 20)
  }

  @Test(arguments: ReplicaStoreKind.allCases)
  func `tiny changes by the million in one operation merge in bounded memory`(
    _ kind: ReplicaStoreKind
  )
    async throws
  {
    let meeting = try await HostileMeeting(kind)
    var forger = Forger()
    let rows = Rehearsal.count(kind == .sqlite ? 1_000_000 : 100_000, short: 20_000)
    let attack = forger.write {
      $0.append(block: BodyBlock(table: "item", keyColumns: ["id"], columns: []))
      for number in 0..<rows {
        $0.append(row: .delete, life: 2)
        $0.append(SQLiteValue.string("\(number)"))
      }
      $0.appendEndOfBlock()
    }
    let more = try await peakMemory {
      try await meeting.sync(with: ScriptedRemote(giving: [attack]))
    }
    print(
      "\(rows) deletes, \(attack.bytes.count >> 10) KiB, \(kind): \(more >> 20) MiB more at most")
    // The database is in memory too.
    #expect(more < 400 << 20)
    #expect(try meeting.store.versionVector()[Forger.id] == 1)
    #expect(try meeting.store.counts().pending[.schema] == 0)
    try await meeting.checkIntact()
  }

  @Test(arguments: ReplicaStoreKind.allCases)
  func `thirty thousand tables that nobody has wait in bounded memory`(_ kind: ReplicaStoreKind)
    async throws
  {
    let meeting = try await HostileMeeting(kind)
    var forger = Forger()
    let attack = forger.write {
      for number in 0..<30_000 {
        $0.append(block: BodyBlock(table: "t\(number)", keyColumns: ["k"], columns: []))
        $0.append(row: .delete, life: 2)
        $0.append(raw: Forger.packed("k"))
        $0.appendEndOfBlock()
      }
    }
    let more = try await peakMemory {
      try await meeting.sync(with: ScriptedRemote(giving: [attack]))
    }
    print("30000 tables, \(attack.bytes.count >> 10) KiB, \(kind): \(more >> 20) MiB more at most")
    #expect(more < 200 << 20)
    #expect(try meeting.store.counts().pending[.schema] == 1)
    try await meeting.checkIntact()
  }
}
