import Foundation
import Tern
import Testing

/// A space in a shared folder as it was written when the format was frozen. The files are never made
/// again: a change that fails here makes a new format, and still has to read this one.
@Suite("Frozen: a space in a shared folder")
struct FolderFixtureTests {
  private static let kept = FixtureOrigin.kept("v1/folder")

  private static let ada = ReplicaID(high: 0xA, low: 0xA1)
  private static let bob = ReplicaID(high: 0xB, low: 0xB2)
  private static let eve = ReplicaID(high: 0xE, low: 0xE5)
  private static let spaceName = "our home"
  private static let adas = "our%20home/\(ada)-1.tern"
  private static let bobs = "our%20home/\(bob)-1.tern"

  // MARK: - What they were made of

  /// By file what was pushed, in one frame each: what is too short to be compressed, UUIDs, what another
  /// replica wrote, and a group of two.
  private static var pushes: [(writer: ReplicaID, frames: [[SyncOperation]])] {
    var (first, third) = (Forger(author: ada), Forger(author: eve))
    let empty = first.write()
    let books = (0..<8).map { number in
      first.row(
        Forger.packed(.string("Dune \(number)")), of: "book",
        key: Forger.packed(.string("3F2504E0-4F89-41D3-9A0C-0305E82C330\(number)")))
    }
    let carried = third.row(Forger.packed("Emma"), of: "book", key: Forger.packed("e"))
    let time = HybridTime(milliseconds: 1_700_000_000_000)
    let group = [true, false].enumerated().map { index, continues in
      SyncOperation(
        .init(
          replica: bob, sequence: UInt64(index) + 1, time: time,
          seen: index == 0 ? VersionVector([ada: 1]) : VersionVector(), schemaVersion: 3,
          continues: continues),
        body: [])
    }
    var second = Forger(author: bob, sequence: 2, time: time)
    let long = String(repeating: "so long a title ", count: 20)
    return [
      (ada, [[empty], books, [carried]]),
      (bob, [group, [second.row(Forger.packed(.string(long)), of: "book")]]),
    ]
  }

  private static func make(in folder: URL) async throws {
    for (writer, frames) in pushes {
      for frame in frames { _ = try await remote(folder, writer).push(frame) }
    }
  }

  private static func remote(_ folder: URL, _ writer: ReplicaID) -> DirectoryRemote {
    DirectoryRemote(
      folder, space: spaceName, writer: { writer }, files: DurableFile(isSynced: false))
  }

  private func withCopy(
    _ origin: FixtureOrigin, _ body: (URL) async throws -> Void
  ) async throws {
    try await origin.withCopy(of: Self.kept, making: Self.make, body)
  }

  private func everything(in folder: URL, reader: ReplicaID = Forger.id) async throws
    -> [SyncOperation]
  {
    let remote = Self.remote(folder, reader)
    var (all, cursor) = ([SyncOperation](), RemoteCursor?.none)
    while true {
      let page = try await remote.pull(after: cursor, excluding: reader)
      #expect(page.withheld == nil)
      (all, cursor) = (all + page.operations, page.cursor)
      if !page.hasMore { return all }
    }
  }

  private func line(_ operation: SyncOperation) -> String {
    func short(_ id: ReplicaID) -> String { String(id.low, radix: 16) }
    let envelope = operation.envelope
    let seen = envelope.seen.sorted.map { ", saw \(short($0.replica)) \($0.sequence)" }
    return "\(short(envelope.replica)) \(envelope.sequence) at \(envelope.time), "
      + "\(operation.bytes.count) bytes\(seen.joined())\(envelope.continues ? ", continues" : "")"
  }

  // MARK: - What they are

  @Test(arguments: FixtureOrigin.all)
  func `it is read, whole and by whoever wrote it`(_ origin: FixtureOrigin) async throws {
    try await withCopy(origin) { folder in
      let remote = Self.remote(folder, Forger.id)
      #expect(
        try await remote.greet().heads == VersionVector([Self.ada: 9, Self.bob: 3, Self.eve: 1]))
      #expect(try await remote.ignoredFiles() == [])
      let all = try await everything(in: folder)
      #expect(
        Set(all.map(line)) == [
          "a1 1 at 1699999940000.1, 31 bytes",
          "a1 2 at 1699999940000.2, 95 bytes",
          "a1 3 at 1699999940000.3, 95 bytes",
          "a1 4 at 1699999940000.4, 95 bytes",
          "a1 5 at 1699999940000.5, 95 bytes",
          "a1 6 at 1699999940000.6, 95 bytes",
          "a1 7 at 1699999940000.7, 95 bytes",
          "a1 8 at 1699999940000.8, 95 bytes",
          "a1 9 at 1699999940000.9, 95 bytes",
          "b2 1 at 1700000000000.0, 48 bytes, saw a1 1, continues",
          "b2 2 at 1700000000000.0, 31 bytes",
          "b2 3 at 1700000000000.1, 380 bytes",
          "e5 1 at 1699999940000.1, 57 bytes",
        ])
      let pushed = Self.pushes.flatMap { $0.frames.joined() }
      #expect(Set(all) == Set(pushed) && all.count == pushed.count)
    }
  }

  @Test(arguments: FixtureOrigin.all)
  func `its files are what is written today, byte for byte where nothing is compressed`(
    _ origin: FixtureOrigin
  ) async throws {
    try await withCopy(origin) { folder in
      var forms: [UInt8] = []
      for (path, pushed) in zip([Self.adas, Self.bobs], Self.pushes) {
        let bytes = Array(try Data(contentsOf: folder.appending(path: path)))
        let head = try bytes.withUnsafeBytes { buffer in
          Result { () throws(WireError) in try FolderHead(buffer) }
        }.get()
        #expect(head.writer == pushed.writer && head.space == Self.spaceName)
        #expect(
          FolderFormat.head(writer: pushed.writer, space: Self.spaceName)
            == Array(bytes[..<head.byteCount]))
        var (place, check) = (head.byteCount, head.check)
        for operations in pushed.frames {
          let frame = bytes.withUnsafeBytes {
            FolderFrame(UnsafeRawBufferPointer(rebasing: $0[place...]), after: check)
          }
          guard case .whole(operations, let byteCount, let next) = frame else {
            Issue.record("\(path) from \(place): \(frame)")
            return
          }
          // Behind the length and the batch's magic. Compressors differ; what is plain is the same.
          forms.append(bytes[place + FolderFormat.lengthBytes + 4])
          if forms.last == 0 {
            #expect(
              FolderFormat.frame(operations, after: check)
                == Array(bytes[place..<place + byteCount]))
          }
          (place, check) = (place + byteCount, next)
        }
        #expect(place == bytes.count)
      }
      #expect(forms == [0, 2, 0, 0, 1])
    }
  }

  @Test(arguments: FixtureOrigin.all)
  func `who wrote it goes on in it, and what is torn off is as if it had not been written`(
    _ origin: FixtureOrigin
  ) async throws {
    try await withCopy(origin) { folder in
      let file = folder.appending(path: Self.adas)
      let before = try Data(contentsOf: file)
      var next = Forger(
        author: Self.ada, sequence: 9, time: HybridTime(milliseconds: 1_700_000_000_000))
      let later = next.row(Forger.packed("later"))
      #expect(try await Self.remote(folder, Self.ada).push([later]).accepted == 1)
      let names = try FileManager.default.contentsOfDirectory(
        atPath: folder.appending(path: "our%20home").path(percentEncoded: false))
      #expect(Set(names) == ["\(Self.ada)-1.tern", "\(Self.bob)-1.tern"])
      let after = try Data(contentsOf: file)
      #expect(after.count > before.count && after.prefix(before.count) == before)
      let pushed = Self.pushes.flatMap { $0.frames.joined() }
      #expect(try await Set(everything(in: folder)) == Set(pushed + [later]))
      // A byte less than the frame of what another replica wrote.
      try before.dropLast().write(to: file)
      let left = try await everything(in: folder)
      #expect(Set(left) == Set(pushed.filter { $0.envelope.replica != Self.eve }))
    }
  }

  /// Writes the files where there are none: `TERN_MAKE_FIXTURES=1`.
  @Test(.enabled(if: FixtureOrigin.isMaking, "made once, where TERN_MAKE_FIXTURES is set"))
  func `the files are made once`() async throws {
    // Refuses to overwrite.
    try #require(!FileManager.default.fileExists(atPath: Self.kept.path(percentEncoded: false)))
    try await withCopy(.made) { try FileManager.default.copyItem(at: $0, to: Self.kept) }
  }
}
