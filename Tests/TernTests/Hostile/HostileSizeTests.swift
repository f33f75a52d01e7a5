import Foundation
import Synchronization
import Tern
import TernTesting
import TestProcesses
import Testing

/// A server whose answer to every pull is the same, and to whoever wants a part of a snapshot.
struct HostileTransport: HTTPTransport {
  let batch: [UInt8]
  var greeting = #"{"epoch":"e","heads":{},"now":\#(Forger.now),"position":1}"#

  func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    if request.url.contains("/operations?") {
      return HTTPResponse(
        status: 200,
        headers: [
          "Content-Type": "application/vnd.tern.batch", "Tern-Cursor": "1", "Tern-More": "0",
          "Tern-Now": "\(Forger.now)",
        ], body: HTTPBody(batch))
    }
    if request.url.contains("/parts/") {
      return HTTPResponse(
        status: 200, headers: ["Content-Type": "application/octet-stream"], body: HTTPBody(batch))
    }
    let receipt = #"{"accepted":0,"now":\#(Forger.now),"position":1}"#
    let text = request.method == .post ? receipt : greeting
    return HTTPResponse(
      status: 200, headers: ["Content-Type": "application/json"], body: HTTPBody(Array(text.utf8)))
  }

  func shutdown() async {}

  var remote: HTTPRemote {
    HTTPRemote(
      URL(string: "http://hostile.example")!, space: "home", token: { "t" }, transport: self)
  }
}

/// What is too much: refused by name where a limit says so, and otherwise merged in bounded memory.
@Suite(.timeLimit(.minutes(3))) struct HostileSizeTests {
  private func frame(
    compression: UInt8, count: Int, length: Int, _ content: [UInt8]
  ) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(raw: Array("TRN1".utf8))
    writer.append(byte: compression)
    writer.append(varint: UInt64(count))
    writer.append(varint: UInt64(length))
    writer.append(raw: content)
    return writer.bytes
  }

  private func bomb(_ length: Int) -> [UInt8] {
    [UInt8](repeating: 0, count: length).withUnsafeBytes { Deflate.compress($0, level: 9)! }
  }

  private func refuses(
    _ batch: [UInt8], _ reason: String, location: SourceLocation = #_sourceLocation
  ) async throws {
    let victim = try await Victim(.sqlite)
    let error = await #expect(throws: RemoteError.self, sourceLocation: location) {
      try await victim.sync(with: HostileTransport(batch: batch).remote)
    }
    #expect(error?.code == .unexpectedAnswer, sourceLocation: location)
    #expect(error?.message.contains(reason) == true, "\(String(describing: error))")
    try await victim.checkIntact(location: location)
  }

  @Test func `what is measured is seen`() async throws {
    let more = try await peakMemory {
      let bytes = [UInt8](repeating: 1, count: 64 << 20)
      #expect(bytes.last == 1)
    }
    #expect(more > 60 << 20)
  }

  @Test func `a byte over each limit of an answer is refused`() async throws {
    let limit = Batch.Limit.bytes
    let fill = [UInt8](repeating: 0, count: limit + 1)
    try await refuses(frame(compression: 0, count: 0, length: limit + 1, fill), "limit")
    try await refuses([UInt8](repeating: 0, count: limit + 65), "limit")
    try await refuses(frame(compression: 0, count: 10_001, length: 0, []), "limit")
    var long = ByteWriter()
    long.append(byte: 0)
    long.append(varint: UInt64(SyncOperation.Limit.bytes + 1))
    long.append(raw: Array(fill.prefix(SyncOperation.Limit.bytes + 1)))
    try await refuses(
      frame(compression: 0, count: 1, length: long.count, long.bytes), "operation is over its limit"
    )
  }

  @Test func `a greeting over its limit is refused`() async throws {
    let victim = try await Victim(.sqlite)
    let padding = String(repeating: " ", count: 16 << 20)
    let transport = HostileTransport(batch: [], greeting: padding + "{}")
    let error = await #expect(throws: RemoteError.self) {
      try await victim.sync(with: transport.remote)
    }
    #expect(error?.code == .unexpectedAnswer)
    try await victim.checkIntact()
  }

  @Test func `a compressed bomb is refused, and takes no more room than a batch may`() async throws
  {
    let (largest, over) = (bomb(Batch.Limit.bytes), bomb(Batch.Limit.bytes + 1))
    let more = try await peakMemory {
      // It says what it is; it says less; it says no more than allowed and is more.
      try await refuses(
        frame(compression: 1, count: 1, length: Batch.Limit.bytes + 1, over), "limit")
      try await refuses(frame(compression: 1, count: 1, length: 100, largest), "compressed data")
      try await refuses(
        frame(compression: 1, count: 1, length: Batch.Limit.bytes, over), "compressed data")
      // As long as it says, and full of nothing.
      try await refuses(
        frame(compression: 1, count: 10_000, length: Batch.Limit.bytes, largest), "operation")
    }
    print("bombs: \(more >> 20) MiB more at most")
    #expect(more < 128 << 20)
  }

  @Test(arguments: ReplicaStoreKind.allCases)
  func `a million tiny changes in one operation merge in bounded memory`(_ kind: ReplicaStoreKind)
    async throws
  {
    let victim = try await Victim(kind)
    var forger = Forger()
    let rows = kind == .sqlite ? 1_000_000 : 100_000
    let attack = forger.write {
      $0.append(block: BodyBlock(table: "item", keyColumns: ["id"], columns: []))
      for number in 0..<rows {
        $0.append(row: .delete, life: 2)
        $0.append(Value.string("\(number)"))
      }
      $0.appendEndOfBlock()
    }
    let more = try await peakMemory {
      try await victim.sync(with: ScriptedRemote(giving: [attack]))
    }
    print(
      "\(rows) deletes, \(attack.bytes.count >> 10) KiB, \(kind): \(more >> 20) MiB more at most")
    // The database is in memory too.
    #expect(more < 400 << 20)
    #expect(try victim.store.versionVector()[Forger.id] == 1)
    #expect(try victim.store.counts().deferredOperations == 0)
    try await victim.checkIntact()
  }

  @Test(arguments: ReplicaStoreKind.allCases)
  func `a hundred thousand tables that nobody has wait in bounded memory`(_ kind: ReplicaStoreKind)
    async throws
  {
    let victim = try await Victim(kind)
    var forger = Forger()
    let attack = forger.write {
      for number in 0..<100_000 {
        $0.append(block: BodyBlock(table: "t\(number)", keyColumns: ["k"], columns: []))
        $0.appendEndOfBlock()
      }
    }
    let more = try await peakMemory {
      try await victim.sync(with: ScriptedRemote(giving: [attack]))
    }
    print("100000 tables, \(attack.bytes.count >> 10) KiB, \(kind): \(more >> 20) MiB more at most")
    #expect(more < 200 << 20)
    #expect(try victim.store.counts().deferredOperations == 1)
    try await victim.checkIntact()
  }
}
