import SeededRandom
import TernCore
import Testing
import WireKit

@Suite("Operation: operations and batches, written and read again")
struct WireRoundTripTests {
  @Test(arguments: 0..<300)
  func `an operation decodes to what it was, and encodes to its bytes`(_ seed: Int) throws {
    var random = RandomWire(seed: seed)
    let operation = random.operation()
    let decoded = try SyncOperation(bytes: operation.bytes)
    #expect(decoded == operation)
    let body = decoded.bytes[decoded.bodyOffset...]
    #expect(SyncOperation(decoded.envelope, body: Array(body)).bytes == operation.bytes)
    #expect(try rewritten(body) == Array(body))
  }

  @Test(arguments: 0..<100)
  func `a batch decodes to what it was`(_ seed: Int) throws {
    var random = RandomWire(seed: seed)
    let batch = OperationBatch((0..<seed % 7).map { _ in random.operation() })
    #expect(try OperationBatch(encoded: batch.encoded()) == batch)
  }

  @Test func `every cut of an operation or its body is refused`() throws {
    let operation = try Self.sample()
    for count in operation.bytes.indices {
      #expect(throws: WireError.self) {
        try SyncOperation(bytes: Array(operation.bytes.prefix(count)))
      }
    }
    let body = operation.bytes[operation.bodyOffset...]
    for count in 1..<body.count {
      #expect(throws: WireError.self, "\(count)") { try rewritten(body.prefix(count)) }
    }
  }

  @Test func `every changed byte is refused or is another canonical operation`() throws {
    let operation = try Self.sample()
    var (taken, rewrites) = (0, 0)
    for index in operation.bytes.indices {
      for flipped in 1...UInt8.max {
        var bytes = operation.bytes
        bytes[index] ^= flipped
        guard let decoded = try? SyncOperation(bytes: bytes) else { continue }
        let body = Array(bytes[decoded.bodyOffset...])
        try require(SyncOperation(decoded.envelope, body: body).bytes == bytes, index, flipped)
        taken += 1
        guard let again = try? rewritten(body) else { continue }
        try require(again == body, index, flipped)
        rewrites += 1
      }
    }
    #expect(taken > 0 && rewrites > 0)
  }

  @Test(arguments: [1, 40])
  func `every cut or changed byte of a batch is refused or is another batch`(_ count: Int) throws {
    let bytes = OperationBatch(Array(repeating: try Self.sample(), count: count)).encoded()
    for length in bytes.indices {
      #expect(throws: WireError.self) { try OperationBatch(encoded: Array(bytes.prefix(length))) }
    }
    for index in bytes.indices {
      for bit in 0..<8 {
        var changed = bytes
        changed[index] ^= 1 << UInt8(bit)
        guard let decoded = try? OperationBatch(encoded: changed) else { continue }
        try require(try OperationBatch(encoded: decoded.encoded()) == decoded, index, UInt8(bit))
      }
    }
  }

  /// Far cheaper than an expectation for tens of thousands of cases.
  private func require(_ condition: Bool, _ index: Int, _ change: UInt8) throws {
    if !condition { try #require(Bool(false), "byte \(index) changed by \(change)") }
  }

  /// Of one block: a cut between two is a body too.
  private static func sample() throws -> SyncOperation {
    for seed in 0..<1000 {
      var random = RandomWire(seed: seed)
      let operation = random.operation()
      guard (300...600).contains(operation.bytes.count) else { continue }
      var (blocks, row) = (0, BodyRow())
      try operation.forEachBlock { block, reader in
        blocks += 1
        while try reader.nextRow(&row, of: block) {}
      }
      if blocks == 1 { return operation }
    }
    throw WireError(.malformed, "sample")
  }
}
