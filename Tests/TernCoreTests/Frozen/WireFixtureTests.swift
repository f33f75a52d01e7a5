import Foundation
import TernCore
import Testing
import WireKit

/// What travels, as it was written when the format was frozen. The files are never made again: a
/// change that fails here makes a new format, and still has to read this one.
@Suite("Frozen: what travels")
struct WireFixtureTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../Fixtures/v1").standardized

  /// As hexadecimal digits, 32 bytes a line.
  private static func bytes(_ name: String) throws -> [UInt8] {
    let file = folder.appending(path: "\(name).hex")
    // A file that is not there fails, but for whoever makes it.
    guard ProcessInfo.processInfo.environment["TERN_MAKE_FIXTURES"] == nil else {
      return try #require(try made()[name])
    }
    let text = try String(contentsOf: file, encoding: .utf8)
    let digits = Array(text.utf8.filter { $0 != UInt8(ascii: "\n") })
    return try stride(from: 0, to: digits.count, by: 2).map {
      try #require(UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16))
    }
  }

  /// What today's code makes.
  private static func made() throws -> [String: [UInt8]] {
    let snapshotRows = WireSpecimens.snapshotRows(CounterSum(base: -(1 << 70)))
    let all = [WireSpecimens.rows, WireSpecimens.elements] + WireSpecimens.fragments
    return [
      "rows": WireSpecimens.rows.bytes,
      "elements": WireSpecimens.elements.bytes,
      "batch-plain": plain(all), "batch-turns": plain(WireSpecimens.turns),
      "batch-zlib": OperationBatch(all).encoded(),
      "batch-packed": OperationBatch(WireSpecimens.identifiers).encoded(),
      "snapshot-heading": WireSpecimens.heading, "snapshot-rows": snapshotRows,
      "snapshot-rows-shares": WireSpecimens.snapshotRows(WireSpecimens.shares),
      "snapshot-part-plain": WireSpecimens.plainPart,
      "snapshot-part-zlib": try SnapshotPart.encoded(snapshotRows),
    ]
  }

  /// Written by hand: Tern compresses what gets shorter.
  private static func plain(_ operations: [SyncOperation]) -> [UInt8] {
    var plain = ByteWriter()
    plain.append(raw: Array("TRN1".utf8) + [0])
    plain.append(varint: UInt64(operations.count))
    let content = BatchContent.write(operations)
    plain.append(varint: UInt64(content.count))
    plain.append(raw: content)
    return plain.bytes
  }

  private func expectRewritten(_ operation: SyncOperation) throws {
    let body = try rewritten(operation.bytes[operation.bodyOffset...])
    #expect(SyncOperation(operation.envelope, body: body).bytes == operation.bytes)
  }

  @Test func `rows of every kind, rule and value`() throws {
    let operation = try SyncOperation(bytes: Self.bytes("rows"))
    #expect(
      try WireTranscript.lines(of: operation) == [
        "operation 5 of 00a1 at 1700000000000+0, schema 3",
        "seen 00b2 9",
        "table book, deletes 0, key isbn copy, columns title:0 scans:1 best:2 first:3 place:6",
        "insert 1 ['1' 7] title='Dune' scans=300 best=2.5 first=NULL place='V.k3XbQ0'",
        "insert 3 [x'00ff' -1] title='\u{FFFD}' scans=-9223372036854775808 best=-0.0 "
          + "first=9223372036854775807 place=x''",
        "update 1 ['2' 0] scans=-18446744073709551616",
        "delete 4 ['3' 1]",
        "table shelf, deletes 1, key id, columns name:0",
        "delete 2 ['s'] covers 00a1 4 covers 00b2 9",
        "table tag, deletes 2, key id, columns ",
        "update 1 ['t']",
      ])
    try expectRewritten(operation)
  }

  @Test func `changes of sets and texts`() throws {
    let operation = try SyncOperation(bytes: Self.bytes("elements"))
    #expect(
      try WireTranscript.lines(of: operation) == [
        "operation 6 of 00a1 at 1700000000000+1, schema 3",
        "table note, deletes 1, key id, columns tags:4 body:5",
        "insert 1 ['n'] tags={+'x'} body=«Call me»",
        "update 1 ['m'] tags={+1 +2.5 +'new' -'old'(00a1:2,00b2:3)} "
          + "body=-00b2:4:1x2 +1 behind start +2 before 00a1:3:0 «éab»",
      ])
    try expectRewritten(operation)
  }

  @Test(arguments: ["batch-plain", "batch-zlib", "batch-packed"])
  func `a batch in each of its forms`(_ name: String) throws {
    let bytes = try Self.bytes(name)
    let batch = try OperationBatch(encoded: bytes)
    let form = ["batch-plain": 0, "batch-zlib": 1, "batch-packed": 2]
    #expect(bytes[4] == form[name].map { UInt8($0) })
    let lines = try WireTranscript.lines(of: batch)
    switch name {
    case "batch-packed":
      let identifiers = (0..<8).map { number in
        [
          "operation \(9 + number) of 00a1 at 1700000000000+\(3 + number), schema 3",
          "table item, deletes 0, key id, columns ",
          "insert 1 ['3F2504E0-4F89-41D3-9A0C-0305E82C330\(number)']",
        ]
      }
      #expect(lines == identifiers.flatMap { $0 })
    default:
      #expect(
        lines.filter { $0.hasPrefix("operation") } == [
          "operation 5 of 00a1 at 1700000000000+0, schema 3",
          "operation 6 of 00a1 at 1700000000000+1, schema 3",
          "operation 7 of 00a1 at 1700000000000+2, schema 3, continues",
          "operation 8 of 00a1 at 1700000000000+2, schema 3",
        ])
    }
    // Compressors differ; what is in a batch is the same, and one that is plain is the same bytes.
    #expect(try OperationBatch(encoded: batch.encoded()) == batch)
    for operation in batch.operations { try expectRewritten(operation) }
    if name == "batch-plain" {
      let content = BatchContent.write(batch.operations)
      #expect(bytes.suffix(content.count).elementsEqual(content))
    }
  }

  @Test func `a batch in which authors take turns`() throws {
    let bytes = try Self.bytes("batch-turns")
    let batch = try OperationBatch(encoded: bytes)
    #expect(
      try WireTranscript.lines(of: batch) == [
        "operation 3 of 00a1 at 1700000000000+0, schema 3",
        "operation 7 of 00b2 at 1700000000000+1, schema 3",
        "operation 4 of 00a1 at 1700000000000+2, schema 3",
        "operation 8 of 00b2 at 1700000000000+3, schema 3",
        "operation 6 of 00a1 at 1700000000000+4, schema 3",
        "operation 9 of 00b2 at 1700000000000+5, schema 3",
        "operation 7 of 00a1 at 1700000000000+6, schema 3",
      ])
    // Three stand whole, with their 31 bytes; of the others 4 are behind the time.
    #expect(bytes.count == 8 + 3 * 33 + 4 * 9)
  }

  @Test func `a snapshot's heading`() throws {
    let content = try Self.bytes("snapshot-heading")
    let heading = try content.withUnsafeBytes { buffer in
      var reader = ByteReader(buffer)
      let kind = try reader.byte("kind")
      #expect(kind == 1)
      return try SnapshotHeading(&reader)
    }
    #expect(heading.schemaVersion == 3)
    let authors = heading.authors.map { author in
      "\(author.id.short) \(author.sequence) \(author.time.milliseconds)"
        + "+\(author.time.rawValue & 0xFFFF)"
    }
    #expect(authors == ["00a1 8 1700000000000+2", "00b2 9 1700000000000+1"])
    var writer = ByteWriter()
    writer.append(byte: 1)
    heading.append(to: &writer)
    #expect(writer.bytes == content)
  }

  @Test func `a snapshot's part, plain and compressed`() throws {
    let content = try Self.bytes("snapshot-rows")
    for (name, form) in [("snapshot-part-plain", 0), ("snapshot-part-zlib", 1)] {
      let part = try Self.bytes(name)
      #expect(Array(part.prefix(5)) == Array("TSN1".utf8) + [UInt8(form)])
      let expected = form == 0 ? try Self.bytes("snapshot-heading") : content
      #expect(try SnapshotPart.content(of: part) == expected)
      #expect(try SnapshotPart.content(of: SnapshotPart.encoded(expected)) == expected)
    }
  }

  @Test(arguments: [
    ("snapshot-rows", "-9223372036854775808"), ("snapshot-rows-shares", "9223372036854775807"),
  ])
  func `a snapshot's rows with cells of every kind`(_ name: String, _ scans: String) throws {
    let content = try Self.bytes(name)
    try content.withUnsafeBytes { buffer in
      var reader = ByteReader(buffer)
      let kind = try reader.byte("kind")
      #expect(kind == 3)
      var body = BodyReader(reader)
      let next = try body.nextBlock()
      let block = try #require(next)
      #expect(
        WireTranscript.line(of: block)
          == "table book, deletes 0, key id, columns title:0 scans:1 best:2 tags:4 body:5")
      reader = body.rest
      var writer = ByteWriter()
      var scratch = ByteWriter()
      writer.append(byte: 3)
      writer.append(block: block)
      var row = SnapshotRow()
      var found: [String] = []
      while !reader.isAtEnd {
        try reader.snapshotRow(&row, of: block, authors: 2)
        let values = (0..<5).map { row.state.computed($0) ?? row.values[Int($0)]?.value }
        found.append(
          "\(row.key[0].value!) life \(row.state.life) by \(row.state.stamp.author): "
            + values.map { $0.map { "\($0)" } ?? "-" }.joined(separator: " "))
        writer.append(
          snapshotRow: row.packedKey, state: row.state,
          kinds: block.columns.map { MergeRule.Kind(rawValue: $0.rule)! }, cells: &scratch
        ) { writer, index in writer.append(row.values[index]!) }
      }
      #expect(
        found == [
          "'1' life 1 by 0: 'Dune' \(scans) 2.5 '[4,\"x\"]' 'Call me'",
          "'2' life 3 by 1: 'Dune' - - - -",
          "'3' life 2 by 0: - - - - -",
        ])
      #expect(writer.bytes == content)
    }
  }

  // MARK: - Made once

  /// Writes the files where there are none: `TERN_MAKE_FIXTURES=1`.
  @Test(
    .enabled(
      if: ProcessInfo.processInfo.environment["TERN_MAKE_FIXTURES"] != nil,
      "made once, where TERN_MAKE_FIXTURES is set"))
  func `the files are made once`() throws {
    let files = try Self.made()
    #expect(!files.isEmpty)
    try FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
    for (name, bytes) in files {
      let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
      let lines = stride(from: 0, to: digits.count, by: 32).map {
        digits[$0..<min($0 + 32, digits.count)].joined() + "\n"
      }
      // Refuses to overwrite.
      try Data(lines.joined().utf8).write(
        to: Self.folder.appending(path: "\(name).hex"), options: .withoutOverwriting)
    }
  }
}
