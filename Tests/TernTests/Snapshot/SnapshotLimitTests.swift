import GRDB
import Tern
import TestDevice
import TestProcesses
import Testing

/// What a snapshot may hold: as much as each limit says is loaded, and one more is refused by name,
/// with nothing changed (INV-06).
@Suite("Snapshot: how much a snapshot may hold", .timeLimit(.minutes(5)))
struct SnapshotLimitTests {
  private static let author = SnapshotHeading.Author(
    id: ReplicaID(high: 0, low: 7), sequence: 3, time: HybridTime(milliseconds: 5))
  private static let end = part(.end) { $0.append(varint: 0) }
  private static let heading = heading([author])

  /// A part's content.
  private static func part(
    _ kind: SnapshotPart.Kind, _ write: (inout ByteWriter) -> Void
  ) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(byte: kind.rawValue)
    write(&writer)
    return writer.bytes
  }

  private static func heading(_ authors: [SnapshotHeading.Author]) -> [UInt8] {
    part(.heading) { SnapshotHeading(schemaVersion: 1, authors: authors).append(to: &$0) }
  }

  /// A row of a table that nobody has, whose column has this rule.
  private static func row(
    life: UInt32 = 1, rule: MergeRule.Kind = .lastWriter,
    _ write: (inout ByteWriter) -> Void = { _ in }
  ) -> [UInt8] {
    part(.rows) {
      $0.append(
        block: BodyBlock(
          table: "elsewhere", keyColumns: ["id"],
          columns: [.init(name: "c", rule: rule.rawValue)]))
      $0.append(varint: UInt64(life) << 1)
      $0.append("k" as SQLiteValue)
      write(&$0)
    }
  }

  /// As ``SnapshotPart/encoded(_:)`` does, whatever the length, and with the length that it claims.
  private static func encoded(
    _ content: [UInt8], isCompressed: Bool, claiming length: Int? = nil
  ) -> [UInt8] {
    var checksum = Checksum()
    checksum.add(content)
    var writer = ByteWriter()
    writer.append(raw: Array("TSN1".utf8))
    writer.append(byte: isCompressed ? 1 : 0)
    writer.append(fixed: checksum.value)
    writer.append(varint: UInt64(length ?? content.count))
    let compressed = content.withUnsafeBytes { Deflate.compress($0, level: 9)! }
    writer.append(raw: isCompressed ? compressed : content)
    return writer.bytes
  }

  /// A device with a row of its own, and what it refuses leaves as it was.
  private struct Reader {
    let device: Device
    private let before: [CanonicalRow]

    init() throws {
      device = try Shelf.device(2)
      try device.execute("INSERT INTO shelf VALUES ('3', 'mine')")
      try device.store.seal()
      before = try device.store.canonicalState()
    }

    private func load(_ parts: [[UInt8]]) throws {
      let source = Parts()
      source.parts = parts
      try device.load(source)
    }

    func takes(_ parts: [[UInt8]], location: SourceLocation = #_sourceLocation) throws {
      #expect(throws: Never.self, sourceLocation: location) { try load(parts) }
      try expectMine(location)
    }

    func refuses(
      _ parts: [[UInt8]], _ error: WireError, location: SourceLocation = #_sourceLocation
    ) throws {
      #expect(throws: error, sourceLocation: location) { try load(parts) }
      let state = try device.store.canonicalState()
      #expect(state == before, sourceLocation: location)
      try expectMine(location)
    }

    private func expectMine(_ location: SourceLocation) throws {
      let shown = try device.column("SELECT id || name FROM shelf")
      #expect(shown == ["3mine"], sourceLocation: location)
    }
  }

  /// Refused, and then taken with one less by the same device.
  private func check(
    _ error: WireError, over: [[UInt8]], full: [[UInt8]],
    location: SourceLocation = #_sourceLocation
  ) throws {
    let reader = try Reader()
    try reader.refuses(over, error, location: location)
    try reader.takes(full, location: location)
  }

  @Test func `authors`() throws {
    func parts(_ count: Int) throws -> [[UInt8]] {
      let authors = (1...UInt64(count)).map {
        SnapshotHeading.Author(
          id: ReplicaID(high: 7, low: $0), sequence: 1, time: Self.author.time)
      }
      return try [Self.heading(authors), Self.end].map { try SnapshotPart.encoded($0) }
    }
    let limit = SnapshotPart.Limit.authors
    try check(WireError(.tooLarge, "author count"), over: parts(limit + 1), full: parts(limit))
  }

  @Test(arguments: [false, true]) func `content of a part`(_ isCompressed: Bool) throws {
    func row(_ byteCount: Int) -> [UInt8] {
      // A living row with no cells is 1 byte of 0 behind its key; a value makes the length.
      let cell = [0 << 3 | 1, 1, 0, 1, 0, 0, 0, 0, 0, 0] as [UInt8]
      func make(_ count: Int) -> [UInt8] {
        Self.row {
          $0.append(varint: UInt64(cell.count))
          $0.append(raw: cell)
          $0.append(SQLiteValue.blob([UInt8](repeating: 0, count: count)))
        }
      }
      let rough = byteCount - 128
      return make(rough + byteCount - make(rough).count)
    }
    let limit = SnapshotPart.Limit.contentBytes
    let (full, over) = (row(limit), row(limit + 1))
    try #require(full.count == limit && over.count == limit + 1)
    let error = WireError(.tooLarge, "snapshot part")
    let heading = try SnapshotPart.encoded(Self.heading)
    let end = try SnapshotPart.encoded(Self.part(.end) { $0.append(varint: 1) })
    try check(
      error, over: [heading, Self.encoded(over, isCompressed: isCompressed), end],
      full: [heading, Self.encoded(full, isCompressed: isCompressed), end])
    // Nobody writes it either.
    #expect(throws: error) { _ = try SnapshotPart.encoded(over) }
    let written = try SnapshotPart.encoded(full)
    #expect(try SnapshotPart.content(of: written) == full)
  }

  /// Zeros, as a part that says what it is; that says less; that says no more than allowed and is more.
  private static func bombs() -> [([UInt8], WireError)] {
    let limit = SnapshotPart.Limit.contentBytes
    let bomb = [UInt8](repeating: 0, count: 2 * limit)
    func claiming(_ length: Int) -> [UInt8] {
      encoded(bomb, isCompressed: true, claiming: length)
    }
    return [
      (claiming(bomb.count), WireError(.tooLarge, "snapshot part")),
      (claiming(100), WireError(.malformed, "compressed data")),
      (claiming(limit), WireError(.malformed, "compressed data")),
    ]
  }

  @Test func `a compressed bomb is refused, and takes no more room than a part may`() async throws {
    let reader = try Reader()
    let heading = try SnapshotPart.encoded(Self.heading)
    let full = try SnapshotPart.encoded(
      [UInt8](repeating: 0, count: SnapshotPart.Limit.contentBytes))
    let bombs = Self.bombs()
    let more = try await peakMemory {
      for (part, error) in bombs {
        #expect(part.count < 1 << 20)
        for parts in [[part], [heading, part]] { try reader.refuses(parts, error) }
      }
      let source = Parts()
      // As long as it says, and full of nothing.
      source.parts = [heading, full]
      let error = #expect(throws: SnapshotError.self) { try reader.device.load(source) }
      #expect(error?.code == .incomplete)
    }
    print("bombs as parts: \(more >> 20) MiB more at most")
    #expect(more < 128 << 20)
    try reader.takes([heading, try SnapshotPart.encoded(Self.end)])
  }

  @Test func `lives of a row`() throws {
    // The next one of a row that was brought to the end of its lives; it is dead.
    func parts(_ life: UInt32) throws -> [[UInt8]] {
      try [
        Self.heading, Self.row(life: life), Self.part(.end) { $0.append(varint: 1) },
      ].map { try SnapshotPart.encoded($0) }
    }
    try check(
      WireError(.malformed, "life"), over: parts(BodyLimit.life + 2),
      full: parts(BodyLimit.life + 1))
  }

  @Test func `bytes of an operation that waits`() throws {
    func operation(_ byteCount: Int) -> SyncOperation {
      func make(_ count: Int) -> SyncOperation {
        SyncOperation(
          .init(replica: Self.author.id, sequence: 3, time: Self.author.time),
          body: [UInt8](repeating: 9, count: count))
      }
      let rough = byteCount - 128
      return make(rough + byteCount - make(rough).bytes.count)
    }
    func parts(_ byteCount: Int) throws -> [[UInt8]] {
      let bytes = operation(byteCount).bytes
      try #require(bytes.count == byteCount)
      let waiting = Self.part(.operations) {
        for field in [0, bytes.count] { $0.append(varint: UInt64(field)) }
        $0.append(raw: bytes)
        for field in [0, 1, 3] { $0.append(varint: UInt64(field)) }
        $0.append(string: "made up")
      }
      return try [Self.heading, waiting, Self.end].map { try SnapshotPart.encoded($0) }
    }
    let limit = SyncOperation.Limit.bytes
    try check(WireError(.tooLarge, "operation"), over: parts(limit + 1), full: parts(limit))
  }

  // MARK: - Texts

  /// A text's state: one author's operations, as how many elements each inserted and how many alike
  /// there are, one behind the other.
  private static func text(_ runs: [(each: Int, times: Int)]) -> [UInt8] {
    let total = runs.reduce(0) { $0 + $1.each * $1.times }
    var writer = ByteWriter()
    writer.append(varint: 1)
    writer.append(replica: author.id)
    writer.append(varint: UInt64(runs.count))
    for run in runs {
      writer.append(varint: 1)
      writer.append(varint: UInt64(run.each) << 1 | (run.times > 1 ? 1 : 0))
      if run.times > 1 { writer.append(varint: UInt64(run.times)) }
    }
    // One piece behind the text's beginning, by the first author; and nothing that waits.
    for field in [1, total << 4 | 1, 0, 0, 0] { writer.append(varint: UInt64(field)) }
    writer.append(raw: [UInt8](repeating: 65, count: total))
    return writer.bytes
  }

  private static func parts(text: [UInt8], of count: Int) throws -> [[UInt8]] {
    var cell = ByteWriter()
    let compressed = text.withUnsafeBytes { Deflate.compress($0, level: 1)! }
    cell.append(byte: 1)
    for field in [count, text.count] { cell.append(varint: UInt64(field)) }
    cell.append(raw: compressed)
    var cells = ByteWriter()
    cells.append(varint: 0 << 3 | 6)
    cells.append(varint: UInt64(cell.count))
    cells.append(raw: cell.bytes)
    cells.append(fixed: author.time.rawValue)
    cells.append(varint: 0)
    let row = row(rule: .text) {
      $0.append(varint: UInt64(cells.count))
      $0.append(raw: cells.bytes)
    }
    return try [heading, row, part(.end) { $0.append(varint: 1) }].map {
      try SnapshotPart.encoded($0)
    }
  }

  @Test func `what is made here is a text's state`() throws {
    var sequence = TextSequence()
    for number in 0..<UInt64(3) {
      // A letter behind the one before.
      var writer = ByteWriter()
      writer.append(byte: 1)
      writer.append(varint: number == 0 ? 0 : 1)
      if number > 0 { writer.append(replica: Self.author.id) }
      let place = number == 0 ? [0] : [2, 2 * number - 1, 0]
      for field in [0, 1] + place + [1] { writer.append(varint: field) }
      writer.append(byte: 65)
      let change = try writer.bytes.withUnsafeBytes { buffer in
        Result { () throws(WireError) in try TextChange(buffer) }
      }.get()
      _ = sequence.apply(change, by: Self.author.id, 2 * number + 1)
    }
    #expect(sequence.stored == Self.text([(1, 3)]))
  }

  @Test func `operations of a text`() throws {
    func parts(_ count: Int) throws -> [[UInt8]] {
      try Self.parts(text: Self.text([(1, count)]), of: count)
    }
    let limit = TextChange.Limit.foreignOperations
    try check(WireError(.tooLarge, "text operations"), over: parts(limit + 1), full: parts(limit))
  }

  @Test func `pieces of a text`() throws {
    // Letters of one operation, of which every other one was taken out.
    func parts(_ count: Int) throws -> [[UInt8]] {
      var writer = ByteWriter()
      writer.append(varint: 1)
      writer.append(replica: Self.author.id)
      for field in [1, 1, count << 1, count] { writer.append(varint: UInt64(field)) }
      for number in 0..<count {
        writer.append(varint: 1 << 4 | (number == 0 ? 1 : 4) | (number % 2 == 0 ? 0 : 8))
        for _ in 0...(number == 0 ? 1 : 0) { writer.append(varint: 0) }
      }
      writer.append(varint: 0)
      let shown = (count + 1) / 2
      writer.append(raw: [UInt8](repeating: 65, count: shown))
      return try Self.parts(text: writer.bytes, of: shown)
    }
    let limit = TextChange.Limit.foreignPieces
    try check(WireError(.tooLarge, "text pieces"), over: parts(limit + 1), full: parts(limit))
  }

  @Test func `bytes of a text`() throws {
    let limit = TextChange.Limit.foreignBytes
    func parts(_ byteCount: Int) throws -> [[UInt8]] {
      let each = TextChange.Limit.bytes
      let overhead = Self.text([(each, 3), (each - 100, 1)]).count - (4 * each - 100)
      let last = byteCount - 3 * each - overhead
      let text = Self.text([(each, 3), (last, 1)])
      try #require(text.count == byteCount)
      return try Self.parts(text: text, of: 3 * each + last)
    }
    try check(WireError(.tooLarge, "text length"), over: parts(limit + 1), full: parts(limit))
  }
}
