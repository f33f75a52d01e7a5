#if Server
import Foundation
import Tern

/// A folder that devices share, in the temporary folder, for as long as `body` runs.
struct Share: Sendable {
  let url: URL

  static func run(_ body: (Share) async throws -> Void) async throws {
    let url = FileManager.default.temporaryDirectory.appending(
      component: "tern-share-\(UUID().uuidString)", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: url) }
    try await body(Share(url: url))
  }

  var space: URL { url.appending(component: "home", directoryHint: .isDirectory) }

  func remote(_ replica: Replica) -> DirectoryRemote {
    DirectoryRemote(
      url, space: "home", writer: { try replica.store.replicaID() },
      pollInterval: .milliseconds(10))
  }

  func remote(
    _ writer: ReplicaID, space: String = "home", fileBytes: Int = 8 << 20,
    replicaLimit: Int = FolderIndex.Limit.replicas, fileLimit: Int = 10_000,
    files: DurableFile = DurableFile(isSynced: false)
  ) -> DirectoryRemote {
    DirectoryRemote(
      url, space: space, writer: { writer }, files: files, fileBytes: fileBytes,
      replicaLimit: replicaLimit, fileLimit: fileLimit, pollInterval: .milliseconds(5))
  }

  /// The names in the space's folder.
  func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: space.path).sorted()
  }

  func read(_ name: String) throws -> Data { try Data(contentsOf: space.appending(path: name)) }

  /// In place, as a program does that copies into the file; not by renaming.
  func write(_ bytes: Data, to name: String) throws {
    try FileManager.default.createDirectory(at: space, withIntermediateDirectories: true)
    try bytes.write(to: space.appending(path: name), options: [])
  }

  func remove(_ name: String) throws {
    try FileManager.default.removeItem(at: space.appending(path: name))
  }

  /// What a device reads that has never looked before.
  func fresh(reader: ReplicaID = Author.id(99)) async throws -> (
    operations: [SyncOperation], cursor: RemoteCursor
  ) {
    try await remote(reader).everything(reader: reader)
  }
}

extension DirectoryRemote {
  func everything(after cursor: RemoteCursor? = nil, reader: ReplicaID = Author.id(99)) async throws
    -> (operations: [SyncOperation], cursor: RemoteCursor)
  {
    var operations: [SyncOperation] = []
    var place = cursor
    while true {
      let page = try await pull(after: place, excluding: reader)
      operations += page.operations
      place = page.cursor
      if !page.hasMore { return (operations, page.cursor) }
    }
  }
}

/// An author of operations that only a remote sees.
struct Author {
  let id: ReplicaID
  var sequence: UInt64 = 0

  init(_ number: UInt64) {
    id = Author.id(number)
  }

  static func id(_ number: UInt64) -> ReplicaID {
    ReplicaID(bytes: (0..<16).map { $0 == 15 ? UInt8(number) : 1 })!
  }

  mutating func next(_ text: String = "", continues: Bool = false) -> SyncOperation {
    sequence += 1
    let envelope = SyncOperation.Envelope(
      replica: id, sequence: sequence,
      time: HybridTime(milliseconds: 1_700_000_000_000 + Int64(sequence)), continues: continues)
    return SyncOperation(envelope, body: Array("\(text)\(sequence) of \(id)".utf8))
  }

  mutating func next(_ count: Int) -> [SyncOperation] { (0..<count).map { _ in next() } }
}
#endif
