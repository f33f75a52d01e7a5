import TernCore
import Testing
import WireKit

/// What is refused, and how it says so.
@Suite("Wire: what is refused, and how it says so")
struct WireLimitTests {
  private func frame(
    magic: String = "TRN1", compression: UInt8 = 0, count: UInt64, length: UInt64,
    _ content: [UInt8] = []
  ) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(raw: Array(magic.utf8))
    writer.append(byte: compression)
    writer.append(varint: count)
    writer.append(varint: length)
    writer.append(raw: content)
    return writer.bytes
  }

  private func expect(
    _ code: WireError.Code, location: SourceLocation = #_sourceLocation, _ body: () throws -> Void
  ) {
    let error = #expect(throws: WireError.self, sourceLocation: location) { try body() }
    #expect(error?.code == code, sourceLocation: location)
  }

  @Test func `frames of another version or compression say so`() {
    expect(.unsupportedVersion) {
      _ = try OperationBatch(encoded: frame(magic: "TRN2", count: 0, length: 0))
    }
    expect(.unsupportedVersion) {
      _ = try OperationBatch(encoded: frame(compression: 3, count: 0, length: 0))
    }
    expect(.truncated) { _ = try OperationBatch(encoded: Array("TRN".utf8)) }
  }

  @Test func `lengths over the limit are refused before anything is read`() {
    let over = UInt64(OperationBatch.Limit.bytes) + 1
    let bomb = [UInt8](repeating: 0, count: 200).withUnsafeBytes { Deflate.compress($0)! }
    for compression: UInt8 in [0, 1, 2] {
      for length in [over, .max] {
        expect(.tooLarge) {
          _ = try OperationBatch(
            encoded: frame(compression: compression, count: 1, length: length, bomb))
        }
      }
    }
    expect(.tooLarge) { _ = try OperationBatch(encoded: frame(count: 10_001, length: 0)) }
    expect(.tooLarge) {
      _ = try SyncOperation(bytes: [UInt8](repeating: 1, count: SyncOperation.Limit.bytes + 1))
    }
  }

  @Test func `a compressed frame must hold exactly what it declares`() {
    let bomb = [UInt8](repeating: 0, count: 1 << 20).withUnsafeBytes { Deflate.compress($0)! }
    for length: UInt64 in [0, 1, 1 << 20 - 1, 1 << 20 + 1, 32 << 20] {
      expect(.malformed) {
        _ = try OperationBatch(encoded: frame(compression: 1, count: 0, length: length, bomb))
      }
    }
    expect(.malformed) {
      _ = try OperationBatch(encoded: frame(compression: 1, count: 0, length: 1 << 20, bomb + [0]))
    }
    expect(.malformed) {
      _ = try OperationBatch(encoded: frame(compression: 1, count: 0, length: 5))
    }
    expect(.malformed) { _ = try OperationBatch(encoded: frame(count: 0, length: 1, [0])) }
    expect(.malformed) { _ = try OperationBatch(encoded: frame(count: 0, length: 2, [0])) }
    expect(.truncated) { _ = try OperationBatch(encoded: frame(count: 1, length: 1, [200])) }
  }

  private func read(_ bytes: [UInt8]) throws(WireError) -> UInt8 {
    let tag = bytes.withUnsafeBytes { buffer in
      Result { () throws(WireError) in
        var reader = ByteReader(buffer)
        return try reader.value("value").tag.rawValue
      }
    }
    return try tag.get()
  }

  @Test func `values have one form`() {
    let zeros = [UInt8](repeating: 0, count: 7)
    let malformed: [[UInt8]] = [
      [0x89, 0x00], [0x80, 0x00],  // longer than need be
      [0x08], [0x0C], [0x0B], [0x0F],  // a number where none is
      [3] + zeros + [0], [3] + zeros + [0x0F],  // short enough for an inline integer
      [7, 1] + zeros + zeros + [0],  // short enough for 64 bits
      [4] + Array(repeating: 0xFF, count: 8), [4, 1] + zeros.dropFirst(2) + [0xF0, 0x7F],  // NaN
      Array(repeating: 0xFF, count: 10) + [1], Array(repeating: 0x80, count: 9) + [2],
    ]
    for bytes in malformed { expect(.malformed) { _ = try read(bytes) } }
    for bytes: [UInt8] in [[], [0x80], [3, 0], [4], [7, 0], [0x0D], [0xFD, 0xFF, 0x7F]] {
      expect(.truncated) { _ = try read(bytes) }
    }
  }

  private func operation(_ change: (inout [UInt8]) -> Void) throws {
    let envelope = SyncOperation.Envelope(
      replica: ReplicaID(high: 1, low: 2), sequence: 1, time: HybridTime(milliseconds: 1))
    var bytes = SyncOperation(envelope, body: []).bytes
    change(&bytes)
    _ = try SyncOperation(bytes: bytes)
  }

  @Test func `envelopes of another version or kind say so`() {
    expect(.unsupportedVersion) { try operation { $0[0] = 2 } }
    expect(.unsupportedVersion) { try operation { $0[1] = 2 } }
    expect(.unsupportedVersion) { try operation { $0[$0.count - 2] = 1 } }
    expect(.malformed) { try operation { $0[$0.count - 1] = 1 } }
    expect(.malformed) { try operation { $0[18] = 0 } }
    expect(.malformed) { try operation { $0[26] = 0x80 } }  // after the year 6429
    expect(.malformed) {
      try operation { $0.replaceSubrange(19..<27, with: repeatElement(0, count: 8)) }
    }
  }

  private func body(_ build: (inout ByteWriter) -> Void) throws {
    var writer = ByteWriter()
    build(&writer)
    _ = try rewritten(writer.bytes)
  }

  private func block(keys: Int = 1, rules: [UInt8] = [0]) -> BodyBlock {
    BodyBlock(
      table: "t", keyColumns: (0..<keys).map { "k\($0)" },
      columns: rules.map { .init(name: "c", rule: $0) })
  }

  @Test func `blocks have their limits`() {
    expect(.malformed) { try body { $0.append(block: block(keys: 0)) } }
    expect(.malformed) { try body { $0.append(block: block(keys: 65)) } }
    expect(.tooLarge) {
      try body { $0.append(block: block(rules: Array(repeating: 0, count: 2001))) }
    }
    expect(.malformed) { try body { $0.append(raw: [1, 0xFF]) } }  // a name that is not UTF-8
    expect(.truncated) { try body { $0.append(raw: [0xFF, 0xFF, 0xFF, 0xFF, 0x0F]) } }
  }

  @Test func `rows keep their life, key and mask in order`() {
    func row(_ kind: RowChange.Kind, life: UInt32, rules: [UInt8] = [0], _ rest: [UInt8]) throws {
      try body {
        $0.append(block: block(rules: rules))
        $0.append(row: kind, life: life)
        $0.append(raw: rest)
        $0.appendEndOfBlock()
      }
    }
    #expect(throws: Never.self) { try row(.insert, life: 1, [9, 9]) }
    #expect(throws: Never.self) { try row(.update, life: 1, [9, 1, 9]) }
    expect(.malformed) { try row(.insert, life: 0, [9, 9]) }
    expect(.malformed) { try row(.insert, life: 2, [9, 9]) }
    expect(.malformed) { try row(.delete, life: 1, [9]) }
    expect(.malformed) { try row(.insert, life: .max, [9, 9]) }
    expect(.malformed) { try row(.insert, life: 1, [0, 9]) }  // NULL in a key
    let one = [4] + [UInt8](repeating: 0, count: 6) + [0xF0, 0x3F]
    expect(.malformed) { try row(.insert, life: 1, one + [9]) }  // 1.0 in a key
    #expect(throws: Never.self) { try row(.insert, life: 1, [9] + one) }
    expect(.malformed) { try row(.update, life: 1, [9, 2]) }  // a bit beyond the columns
    let wide = [7] + [UInt8](repeating: 0xFF, count: 15) + [0x7F]
    for rule: UInt8 in [0, 2, 3, 4, 5, 6] {
      expect(.malformed) { try row(.insert, life: 1, rules: [rule], [9] + wide) }
    }
    for rule: UInt8 in [1, 7] {
      #expect(throws: Never.self) { try row(.insert, life: 1, rules: [rule], [9] + wide) }
    }
    expect(.malformed) {
      try body {
        $0.append(block: block())
        $0.append(byte: 7)
      }
    }
  }

  @Test func `a set's change has one form`() {
    func change(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { _ = try SetChange($0) } }
    let id = [UInt8](repeating: 7, count: 16)
    #expect(throws: Never.self) { try change([0, 0, 0]) }
    #expect(throws: Never.self) { try change([1] + id + [1, 9, 1, 0, 5, 2, 9, 17]) }
    for refused: [UInt8] in [
      [1] + id + [0, 0],  // a replica that nobody names
      [2] + id + id + [1, 9, 1, 0, 5, 0], [1] + id + [1, 9, 1, 1, 5, 0],
      [1] + id + [1, 9, 1, 0, 0, 0], [1] + id + [1, 9, 0, 0],
      [1] + id + [2, 9, 1, 0, 5, 9, 1, 0, 5, 0],
      [0, 0, 2, 17, 9], [0, 0, 2, 9, 9], [0, 0, 1, 0], [0, 0, 1, 6], [0, 0, 1, 13, 0xFF],
      [0, 0, 1, 4, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F],  // 1.0
      [0, 0, 1, 4, 0, 0, 0, 0, 0, 0, 0xF0, 0x7F],  // infinite
      [0, 0, 0, 0],
    ] { expect(.malformed) { try change(refused) } }
    for cut: [UInt8] in [[], [0], [0, 0], [1, 7], [0, 0, 1]] {
      expect(.truncated) { try change(cut) }
    }
  }
}
