import TernCore
import Testing

/// One that follows its author's last one stands without what both have in common.
@Suite("Operation: operations that follow their author's last one")
struct BatchContentTests {
  private func operation(
    _ author: UInt64, _ sequence: UInt64, at milliseconds: Int64 = 1_700_000_000_000,
    counter: UInt64 = 0, schemaVersion: UInt32 = 1, continues: Bool = false
  ) -> SyncOperation {
    SyncOperation(
      .init(
        replica: ReplicaID(high: author, low: 0), sequence: sequence,
        time: HybridTime(rawValue: UInt64(milliseconds) << 16 | counter),
        seen: sequence % 2 == 0 ? VersionVector([ReplicaID(high: 9, low: 9): sequence]) : .init(),
        schemaVersion: schemaVersion, continues: continues),
      body: [])
  }

  private func read(_ content: [UInt8], count: Int) throws(WireError) -> [SyncOperation] {
    let result = content.withUnsafeBytes { buffer in
      Result { () throws(WireError) in try BatchContent.read(buffer, count: count) }
    }
    return try result.get()
  }

  /// - Returns: how many stand whole.
  private func expectSame(
    _ operations: [SyncOperation], location: SourceLocation = #_sourceLocation
  ) throws -> Int {
    let content = BatchContent.write(operations)
    #expect(try read(content, count: operations.count) == operations, sourceLocation: location)
    // What stands whole is found by its own bytes: no two are equal.
    return operations.count { content.firstRange(of: $0.bytes) != nil }
  }

  @Test func `an author's next ones follow, each with its own flags, time and version`() throws {
    let operations = [
      operation(1, 126), operation(1, 127, counter: 1, continues: true),
      operation(1, 128, counter: 1), operation(1, 129, at: 1_700_000_099_999, schemaVersion: 2),
      operation(1, 130, at: 1_700_000_099_999, counter: 0xFFFF, schemaVersion: 1),
      operation(1, 131, at: HybridTime.maximumMilliseconds),
    ]
    #expect(try expectSame(operations) == 1)
  }

  @Test func `authors take turns`() throws {
    let operations = (1...40).map { (number: UInt64) in
      operation(number % 3, 1 + number / 3, at: Int64(1000 + number))
    }
    #expect(try expectSame(operations) == 3)
  }

  @Test func `what does not follow stands whole, and is followed`() throws {
    #expect(try expectSame([operation(1, 1), operation(1, 3), operation(1, 4)]) == 2)
    #expect(try expectSame([operation(1, 2), operation(1, 1), operation(1, 2, counter: 1)]) == 2)
    let backwards = [operation(1, 1), operation(1, 2, at: 5), operation(1, 3, at: 6)]
    #expect(try expectSame(backwards) == 2)
  }

  @Test func `an entry that can follow nothing is refused`() throws {
    let first = operation(1, 1)
    let whole = BatchContent.write([first])
    let rest = Array(first.bytes[27...])
    let taken = try read(whole + [1, UInt8(rest.count), 0, 1, 0] + rest, count: 2)
    #expect(taken == [first, operation(1, 2, at: 1_700_000_000_001).withoutSeen])
    let count = UInt8(rest.count)
    let heads: [(head: [UInt8], code: WireError.Code)] = [
      ([2, count, 0, 1, 0], .malformed),
      ([1, count, 0, 1, 0x80, 0x80, 4], .malformed),
      ([1, count, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x1F, 0], .malformed),
      ([1, count, 0] + Array(repeating: 0xFF, count: 9) + [1, 0], .malformed),
      ([1, count, 2, 1, 0], .unsupportedVersion),
      ([1, count + 1, 0, 1, 0], .truncated),
      ([1, count - 1, 0, 1, 0], .truncated),
    ]
    var entries = heads.map { (entry: $0.head + rest, code: $0.code) }
    entries += [([1], .truncated), ([], .truncated)]
    for (entry, code) in entries {
      let error = #expect(throws: WireError.self, "\(entry)") {
        try read(whole + entry, count: 2)
      }
      #expect(error?.code == code, "\(entry)")
    }
    let last = operation(1, VersionVector.maximumSequence)
    let error = #expect(throws: WireError.self) {
      try read(BatchContent.write([last]) + [1, 4, 0, 1, 0] + last.bytes.suffix(4), count: 2)
    }
    #expect(error?.code == .malformed)
  }
}

extension SyncOperation {
  fileprivate var withoutSeen: SyncOperation {
    var envelope = envelope
    envelope.seen = .init()
    return SyncOperation(envelope, body: Array(bytes[bodyOffset...]))
  }
}
