import Foundation
import TernCore
import Testing

/// `Docs/WireFormat.md` ends with an example, which is what this library reads and writes.
@Suite("Wire: the documentation's example")
struct WireFormatDocumentTests {
  private static func example() throws -> [UInt8] {
    let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
    let page = try String(contentsOf: root.appending(path: "Docs/WireFormat.md"), encoding: .utf8)
    let block = try #require(page.split(separator: "```hex\n").last?.split(separator: "```").first)
    return try block.split(separator: "\n").flatMap { line in
      try line.prefix { $0 != "#" }.split(separator: " ").map {
        try #require(UInt8($0, radix: 16), "\($0)")
      }
    }
  }

  private static let author = ReplicaID(bytes: 0..<16)!

  private static func operation() -> SyncOperation {
    var body = ByteWriter()
    body.append(
      block: BodyBlock(
        table: "book", keyColumns: ["isbn"],
        columns: [.init(name: "title", rule: 0), .init(name: "scans", rule: 1)]))
    body.append(row: .insert, life: 1)
    for value: SQLiteValue in ["1", "Dune", 300] { body.append(value) }
    body.append(row: .update, life: 1)
    body.append("2" as SQLiteValue)
    body.append(byte: 0b10)
    body.append(wide: -(1 << 64))
    body.append(row: .delete, life: 4)
    body.append("3" as SQLiteValue)
    body.appendEndOfBlock()
    let envelope = SyncOperation.Envelope(
      replica: author, sequence: 3,
      time: HybridTime(milliseconds: 1_700_000_000_000).next(atMilliseconds: 0),
      seen: VersionVector([ReplicaID(bytes: 16..<32)!: 5]), schemaVersion: 2)
    return SyncOperation(envelope, body: body.bytes)
  }

  private static func next() -> SyncOperation {
    var body = ByteWriter()
    body.append(block: BodyBlock(table: "book", keyColumns: ["isbn"], columns: []))
    body.append(row: .delete, life: 2)
    body.append("1" as SQLiteValue)
    body.appendEndOfBlock()
    let envelope = SyncOperation.Envelope(
      replica: author, sequence: 4, time: HybridTime(milliseconds: 1_700_000_010_000),
      schemaVersion: 2)
    return SyncOperation(envelope, body: body.bytes)
  }

  @Test func `the example decodes to what its notes say`() throws {
    let batch = try OperationBatch(encoded: Self.example())
    #expect(batch == OperationBatch([Self.operation(), Self.next()]))
    #expect(batch.operations.map(\.envelope) == [Self.operation(), Self.next()].map(\.envelope))
  }

  @Test func `every cut of the example is refused`() throws {
    let example = try Self.example()
    #expect(!example.isEmpty)
    for count in example.indices {
      #expect(throws: WireError.self) { try OperationBatch(encoded: Array(example.prefix(count))) }
    }
  }
}
