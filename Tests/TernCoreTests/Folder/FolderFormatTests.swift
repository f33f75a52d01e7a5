import SeededRandom
import TernCore
import Testing

@Suite("Folder: the format of a shared folder")
struct FolderFormatTests {
  private static func file(_ frames: [[SyncOperation]]) -> [UInt8] {
    var bytes = FolderFormat.head(writer: ReplicaID(high: 1, low: 2), space: "home")
    for frame in frames {
      bytes += FolderFormat.frame(frame, after: FolderFormat.check(endOf: bytes))
    }
    return bytes
  }

  /// The whole frames of a file.
  private static func read(_ bytes: [UInt8]) -> [[SyncOperation]]? {
    bytes.withUnsafeBytes { buffer in
      guard let head = try? FolderHead(buffer), head.space == "home" else { return nil }
      var (offset, check) = (head.byteCount, head.check)
      var frames: [[SyncOperation]] = []
      while case .whole(let operations, let count, let next) = FolderFrame(
        UnsafeRawBufferPointer(rebasing: buffer[offset...]), after: check)
      {
        frames.append(operations)
        (offset, check) = (offset + count, next)
      }
      return frames
    }
  }

  private static func operation(_ sequence: UInt64, time: Int64? = nil, text: String = "")
    -> SyncOperation
  {
    let envelope = SyncOperation.Envelope(
      replica: ReplicaID(high: 3, low: 4), sequence: sequence,
      time: HybridTime(milliseconds: time ?? Int64(sequence)))
    return SyncOperation(envelope, body: Array("\(text)\(sequence)".utf8))
  }

  @Test func `the format of the page`() {
    let bytes = Self.file([[Self.operation(1)]])
    let head: [UInt8] =
      Array("TRNF".utf8) + [1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 4]
      + Array("home".utf8)
    #expect(Array(bytes.prefix(head.count)) == head)
    // CRC-32 of the head, and of head, length and batch, as any other program computes them.
    #expect(Array(bytes[head.count..<head.count + 4]) == [0xDD, 0x20, 0xBD, 0x56])
    let batch = OperationBatch([Self.operation(1)]).encoded()
    let start = head.count + 4
    #expect(Array(bytes[start..<start + 4]) == [UInt8(batch.count), 0, 0, 0])
    #expect(Array(bytes[(start + 4)..<(start + 4 + batch.count)]) == batch)
    #expect(Array(bytes.suffix(4)) == [0x60, 0xD2, 0xAF, 0x9E])
  }

  @Test func `no changed byte passes, and frames before it do`() {
    let frames = (1...4).map { [Self.operation(UInt64($0), text: "some content, ")] }
    let bytes = Self.file(frames)
    #expect(Self.read(bytes) == frames)
    let ends = (0...4).map { Self.file(Array(frames.prefix($0))).count }
    for index in bytes.indices {
      var changed = bytes
      changed[index] ^= 0x10
      let count = ends.lastIndex { $0 <= index }
      #expect(Self.read(changed) == count.map { Array(frames.prefix($0)) }, "byte \(index)")
    }
  }

  @Test func `frames of another file, or in another order, are none`() {
    let (first, second) = ([Self.operation(1)], [Self.operation(2)])
    let (one, other) = (Self.file([first, second]), Self.file([second, first]))
    let head = Self.file([]).count
    let mixed = Array(one.prefix(Self.file([first]).count)) + other[Self.file([second]).count...]
    #expect(Self.read(mixed) == [first])
    #expect(Self.read(Array(one.prefix(head)) + one[Self.file([first]).count...]) == [])
  }

  @Test func `a cursor has one form`() {
    var given = VersionVector()
    #expect(FolderCursor(RemoteCursor(rawValue: "folder1")) == FolderCursor())
    given[ReplicaID(high: 2, low: 1)] = 7
    given[ReplicaID(high: 1, low: 1)] = 1 << 39
    let times = [ReplicaID(high: 2, low: 1): HybridTime(milliseconds: 1_700_000_000_000)]
    let timed = FolderCursor(given, times: times)
    #expect(FolderCursor(timed.cursor) == timed)
    let cursor = FolderCursor(given).cursor
    #expect(FolderCursor(cursor)?.given == given)
    let text = cursor.rawValue
    for strange in [
      "", "folder2", "folder1,", text + ",", text.uppercased(), String(text.dropLast()),
      text.replacingOccurrences(of: ":7", with: ":07"), text + ":", text + ":07", text + ":1:1",
    ] {
      #expect(FolderCursor(RemoteCursor(rawValue: strange)) == nil, "\(strange)")
    }
  }

  @Test(arguments: 0..<50)
  func `whatever order files are read in, the same can be given out`(_ seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let count = Int.random(in: 1...30, using: &generator)
    // Some stand in several files, and some nowhere.
    var found = (1...count).flatMap { number in
      let copies =
        number == count / 2 && seed % 3 == 0 ? 0 : Int.random(in: 1...3, using: &generator)
      return Array(repeating: Self.operation(UInt64(number)), count: copies)
    }
    let missing = (1...UInt64(count)).first { number in
      !found.contains { $0.envelope.sequence == number }
    }
    let head = missing.map { $0 - 1 } ?? UInt64(count)
    found.shuffle(using: &generator)
    var index = FolderIndex()
    for (frame, operation) in found.enumerated() {
      index.add(operation, at: .init(file: 0, frame: frame))
    }
    let replica = ReplicaID(high: 3, low: 4)
    #expect(index.heads == VersionVector([replica: head]) && index.disputes.isEmpty)
    #expect(index.end(of: replica) == head)
  }

  @Test(arguments: 0..<20)
  func `two contents are found in whatever order, and end there`(_ seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let disputed = UInt64.random(in: 1...10, using: &generator)
    var found = (1...10).map { Self.operation(UInt64($0)) }
    found.append(Self.operation(disputed, text: "other"))
    found.shuffle(using: &generator)
    var index = FolderIndex()
    for (frame, operation) in found.enumerated() {
      index.add(operation, at: .init(file: 0, frame: frame))
    }
    let replica = ReplicaID(high: 3, low: 4)
    #expect(index.end(of: replica) == disputed - 1)
    #expect(index.disputes.map(\.sequence) == [disputed])
    #expect(index.disputes.first?.code == .sequenceConflict)
    #expect(index.heads[replica] == 10)
  }

  @Test func `a time that goes back ends what is given out`() {
    var index = FolderIndex()
    for (sequence, time) in [(1, 5), (2, 6), (3, 6), (4, 9)] {
      index.add(
        Self.operation(UInt64(sequence), time: Int64(time)), at: .init(file: 0, frame: sequence))
    }
    #expect(index.end(of: ReplicaID(high: 3, low: 4)) == 2)
    #expect(index.disputes.map(\.code) == [.timeNotIncreasing])
  }
}
