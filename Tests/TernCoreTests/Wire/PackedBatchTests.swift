import SeededRandom
import TernCore
import Testing

/// UUIDs in text travel as their 16 bytes.
@Suite("Wire: batches with packed UUIDs")
struct PackedBatchTests {
  private func batch(_ keys: [String]) -> OperationBatch {
    OperationBatch(
      keys.enumerated().map { index, key in
        var body = ByteWriter()
        body.append(block: BodyBlock(table: "item", keyColumns: ["id"], columns: []))
        body.append(row: .insert, life: 1)
        body.append(.text(Array(key.utf8)))
        body.appendEndOfBlock()
        return SyncOperation(
          .init(
            replica: ReplicaID(high: 0, low: 7), sequence: UInt64(index + 1),
            time: HybridTime(milliseconds: Int64(index + 1))), body: body.bytes)
      })
  }

  private func uuids(_ count: Int, seed: UInt64) -> [String] {
    var generator = SeededGenerator(seed: seed)
    return (0..<count).map { _ in
      var digits = Array(ReplicaID(using: &generator).description)
      for index in [20, 16, 12, 8] { digits.insert("-", at: index) }
      return String(digits)
    }
  }

  @Test func `a batch of rows known by UUIDs takes little more than their bytes`() throws {
    let keys = uuids(1000, seed: 1)
    for keys in [keys, keys.map { $0.uppercased() }] {
      let encoded = batch(keys).encoded()
      #expect(encoded[4] == 2)
      #expect(encoded.count < 1000 * 22)
      #expect(try OperationBatch(encoded: encoded) == batch(keys))
    }
  }

  @Test func `what looks like a UUID and what does not both come back as they were`() throws {
    let uuid = "01234567-89ab-cdef-0123-456789abcdef"
    let texts = [
      uuid, uuid.uppercased(), uuid + uuid, uuid.uppercased() + uuid, "-" + uuid + "-",
      String(uuid.dropLast()), String(uuid.dropFirst()), "0" + uuid, uuid + "0",
      uuid.replacing("cdef-", with: "CDEF-"), uuid.replacing("89ab", with: "89ag"),
      uuid.replacing("-", with: "_"), "00000000-0000-0000-0000-000000000000",
      String(repeating: "-", count: 100), "01234567-89ab-cdef-0123-4567" + uuid,
      "{\"a\":\"\(uuid)\",\"b\":\"\(uuid)\"}",
    ]
    for text in texts {
      let one = batch(Array(repeating: text, count: 20))
      #expect(try OperationBatch(encoded: one.encoded()) == one, "\(text)")
    }
    let all = batch(texts)
    #expect(all.encoded()[4] == 2)
    #expect(try OperationBatch(encoded: all.encoded()) == all)
  }

  @Test func `every cut or changed byte of a packed batch is refused or is another batch`() throws {
    let bytes = batch(uuids(8, seed: 2)).encoded()
    try #require(bytes[4] == 2)
    for length in bytes.indices {
      #expect(throws: WireError.self) { try OperationBatch(encoded: Array(bytes.prefix(length))) }
    }
    for index in bytes.indices {
      for bit in 0..<8 {
        var changed = bytes
        changed[index] ^= 1 << UInt8(bit)
        guard let decoded = try? OperationBatch(encoded: changed) else { continue }
        #expect(
          try OperationBatch(encoded: decoded.encoded()) == decoded, "byte \(index), bit \(bit)")
      }
    }
  }

  @Test func `a count of UUIDs that is too great is refused before their places are read`()
    throws
  {
    // As many places as fit, none of which ends.
    let packed = [100] + [UInt8](repeating: 0xFF, count: 160)
    let stream = try #require(packed.withUnsafeBytes { Deflate.compress($0) })
    var writer = ByteWriter()
    writer.append(raw: Array("TRN1".utf8))
    writer.append(byte: 2)
    writer.append(varint: 1)
    writer.append(varint: 200)
    writer.append(varint: UInt64(packed.count))
    writer.append(raw: stream)
    let error = #expect(throws: WireError.self) { try OperationBatch(encoded: writer.bytes) }
    #expect(error?.field == "packed length")
  }

  @Test func `a packed batch says how long it is, and is that long`() throws {
    let filler = [UInt8](repeating: 0, count: 80)
    // A count, places, the other bytes, and UUIDs: of one operation of 116 bytes that is none.
    let packings: [(packed: [UInt8], length: Int)] = [
      ([0] + filler, 80), ([1, 160] + filler, 100), ([1, 0] + filler, 101),
      ([1, 0xFF, 0xFF, 0x03] + filler, 100), ([200, 1] + filler, 80), ([255], 3),
      ([1, 0], 20), ([81] + filler, 80),
    ]
    for (packed, length) in packings {
      let stream = try #require(
        (packed + filler).withUnsafeBytes { Deflate.compress($0) })
      for declared in [packed.count + filler.count, packed.count, length, length + 1] {
        var writer = ByteWriter()
        writer.append(raw: Array("TRN1".utf8))
        writer.append(byte: 2)
        writer.append(varint: 1)
        writer.append(varint: UInt64(length))
        writer.append(varint: UInt64(declared))
        writer.append(raw: stream)
        let error = #expect(throws: WireError.self) { try OperationBatch(encoded: writer.bytes) }
        #expect(error?.code != .unsupportedVersion)
      }
    }
  }
}
