import TernCore
import Testing

/// Limits that no operation of an honest length comes near, or that take long to merge at: as much as
/// each says is read, and one more is refused by name. The others' are with hostile peers and snapshots.
@Suite("Text: limits that no honest operation comes near")
struct ReadLimitTests {
  private static let author = ReplicaID(high: 0xFACE, low: 1)

  private func error(_ bytes: [UInt8]) -> WireError? {
    let result = bytes.withUnsafeBytes { buffer in
      Result { () throws(WireError) in try TextChange(buffer) }
    }
    guard case .failure(let error) = result else { return nil }
    return error
  }

  @Test func `bytes of a text that nobody had written before`() {
    let full = [0] + [UInt8](repeating: 65, count: TextChange.Limit.bytes)
    #expect(error(full) == nil)
    #expect(error(full + [65]) == WireError(.tooLarge, "text"))
  }

  /// So many bytes in each run, at the text's beginning.
  private func insertion(_ runs: [Int]) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(byte: 1)
    for field in [0, 0, runs.count] { writer.append(varint: UInt64(field)) }
    for run in runs {
      for field in [0, run] { writer.append(varint: UInt64(field)) }
    }
    writer.append(raw: [UInt8](repeating: 65, count: runs.reduce(0, +)))
    return writer.bytes
  }

  @Test func `bytes that one change inserts into a text`() {
    let limit = TextChange.Limit.bytes
    for runs in [[limit], [limit / 2, limit / 2], [1, limit - 1]] {
      #expect(error(insertion(runs)) == nil)
    }
    #expect(error(insertion([limit + 1])) == WireError(.tooLarge, "text insertion"))
    for runs in [[limit, 1], [1, limit], [limit / 2, limit / 2, 1]] {
      #expect(error(insertion(runs)) == WireError(.tooLarge, "text"))
    }
  }

  /// Letters of one operation: the offset of the first and how many, for each run.
  private func removal(_ runs: some Sequence<(first: Int, count: Int)>, of count: Int) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(byte: 1)
    writer.append(varint: 1)
    writer.append(replica: Self.author)
    writer.append(varint: UInt64(count))
    for run in runs {
      for field in [0, 1, run.first, run.count] { writer.append(varint: UInt64(field)) }
    }
    writer.append(varint: 0)
    return writer.bytes
  }

  @Test func `runs that one change removes from a text`() {
    let limit = TextChange.Limit.removals
    func runs(_ count: Int) -> [UInt8] {
      removal((0..<count).lazy.map { (first: 2 * $0, count: 1) }, of: count)
    }
    #expect(error(runs(limit)) == nil)
    #expect(error(runs(limit + 1)) == WireError(.tooLarge, "text removals"))
  }

  @Test func `letters of one operation`() {
    let limit = TextChange.Limit.bytes
    for run in [(first: 0, count: limit), (limit - 1, 1)] {
      #expect(error(removal([run], of: 1)) == nil)
    }
    for run in [(first: 0, count: limit + 1), (limit - 1, 2)] {
      #expect(error(removal([run], of: 1)) == WireError(.malformed, "text removal"))
    }
    #expect(error(removal([(limit, 1)], of: 1)) == WireError(.malformed, "text element"))
  }

  // MARK: - Shared folders

  @Test func `the name of a space in a folder's file`() throws {
    func read(_ count: Int) throws -> FolderHead {
      let space = String(repeating: "s", count: count)
      let bytes = FolderFormat.head(writer: Self.author, space: space)
      return try bytes.withUnsafeBytes { buffer in
        Result { () throws(WireError) in try FolderHead(buffer) }
      }.get()
    }
    let limit = FolderFormat.Limit.spaceBytes
    #expect(try read(limit).byteCount <= FolderFormat.Limit.headBytes)
    #expect(throws: WireError(.tooLarge, "space")) { try read(limit + 1) }
  }

  @Test func `a frame of a folder's file`() {
    let overhead = FolderFormat.lengthBytes + FolderFormat.checkBytes
    func read(_ count: Int) -> FolderFrame {
      var writer = ByteWriter()
      writer.append(fixed: UInt32(count))
      writer.append(fixed: UInt32(0))
      return writer.bytes.withUnsafeBytes { FolderFrame($0, after: 0) }
    }
    let limit = FolderFormat.Limit.batchBytes
    if case .needs(limit + overhead) = read(limit) {} else { Issue.record("it waits for the rest") }
    if case .broken(nil) = read(limit + 1) {} else { Issue.record("nobody wrote so long a one") }
    if case .broken(nil) = read(0) {} else { Issue.record("nobody wrote an empty one") }
  }

  @Test func `replicas of a folder`() {
    func operation(_ number: Int) -> SyncOperation {
      SyncOperation(
        .init(
          replica: ReplicaID(high: 7, low: UInt64(number)), sequence: 1,
          time: HybridTime(milliseconds: 1)), body: [])
    }
    var index = FolderIndex()
    let limit = FolderIndex.Limit.replicas
    for number in 1...limit {
      let isTaken = index.add(operation(number), at: .init(file: 0, frame: 0))
      #expect(isTaken)
    }
    let isTaken = index.add(operation(limit + 1), at: .init(file: 0, frame: 0))
    #expect(!isTaken)
    #expect(index.replicas.count == limit)
    let error = #expect(throws: RemoteError.self) { _ = try index.new(of: [operation(limit + 1)]) }
    #expect(error?.code == .tooLarge)
    #expect(throws: Never.self) { _ = try index.new(of: [operation(limit)]) }
  }
}
