import Foundation
import TernCore
import TernDatabase

/// A space in a folder that devices share by any means: a synchronised folder, a network share, a
/// stick that is carried. See "Sync without a server" in `Docs/Remotes.md`, and
/// `Docs/WireFormat.md` for the files.
///
/// Every replica appends to files of its own, named by its id, and reads all others. Nothing in a
/// folder authorises: who can read it can read the space, and who can write to it can write.
///
/// What a push acknowledged is in a file of the folder on this device, durable as it was asked for.
/// When it reaches other devices is for whatever carries the folder. Should the folder lose it,
/// some replica that has it pushes it again.
public struct DirectoryRemote: Remote {
  /// `folder:`, the path and the space.
  public let id: String

  let folder: SharedFolder
  private let clock: any Clock<Duration>
  private let pollInterval: Duration

  /// - Parameters:
  ///   - folder: a `file:` URL. It has to be there; the space's own folder in it is made.
  ///   - replica: who writes.
  ///   - durability: what an acknowledged push survives on this device.
  ///   - pollInterval: how often to look for what others wrote. A folder on the network tells
  ///     nobody of it.
  public init(
    _ folder: URL, space: String, replica: Replica, durability: Durability = .powerLoss,
    pollInterval: Duration = .seconds(2)
  ) {
    let store = replica.store
    self.init(
      folder, space: space, writer: { try store.replicaID() }, durability: durability,
      pollInterval: pollInterval)
  }

  /// For any writer, with its surroundings given.
  ///
  /// - Parameters:
  ///   - writer: the id of the replica that pushes; asked before every push, and may block.
  ///   - executor: where it blocks on files.
  package init(
    _ folder: URL, space: String, writer: @escaping @Sendable () throws -> ReplicaID,
    durability: Durability = .powerLoss, clock: any Clock<Duration> = .continuous,
    pollInterval: Duration = .seconds(2), executor: (any SerialExecutor)? = nil
  ) {
    self.init(
      folder, space: space, writer: writer,
      files: DurableFile(isSynced: durability == .powerLoss), clock: clock,
      pollInterval: pollInterval, executor: executor)
  }

  /// - Parameter files: how bytes come to the disk.
  package init(
    _ folder: URL, space: String, writer: @escaping @Sendable () throws -> ReplicaID,
    files: DurableFile, fileBytes: Int = SharedFolder.Limit.fileBytes,
    replicaLimit: Int = FolderIndex.Limit.replicas, fileLimit: Int = SharedFolder.Limit.files,
    clock: any Clock<Duration> = .continuous, pollInterval: Duration = .seconds(2),
    executor: (any SerialExecutor)? = nil
  ) {
    let path = folder.isFileURL ? folder.standardizedFileURL.path(percentEncoded: false) : ""
    let root = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    id = "folder:\(root)/\(HTTPRemote.escaped(space))"
    self.clock = clock
    self.pollInterval = pollInterval
    self.folder = SharedFolder(
      root: root, space: space, writer: writer, files: files, fileBytes: fileBytes,
      replicaLimit: replicaLimit, fileLimit: fileLimit,
      executor: executor ?? DatabaseExecutor(label: "tern.folder"))
  }

  public func greet(as replica: ReplicaID?) async throws -> RemoteGreeting {
    try await folder.greet()
  }

  /// Appends the operations that no file of the folder holds yet to this replica's own.
  public func push(_ operations: [SyncOperation]) async throws -> PushReceipt {
    try await folder.push(operations)
  }

  /// Operations whose predecessors are in the folder; what lacks one waits for the file to arrive.
  /// ``PulledPage/withheld`` names a file that can't be read, and files that hold different
  /// operations under one number (`sequence-conflict`, `time-not-increasing`).
  ///
  /// - Throws: ``RemoteError``.
  public func pull(after cursor: RemoteCursor?, excluding excluded: ReplicaID) async throws
    -> PulledPage
  {
    try await folder.pull(after: cursor, excluding: excluded)
  }

  /// A number that grows whenever operations were found in the folder. Throws when the folder is
  /// gone, or lost operations that it had, wherever the cursor is.
  public func positions(after cursor: RemoteCursor?) -> AsyncThrowingStream<UInt64, any Error> {
    let watch = FolderWatch(folder, clock: clock, interval: pollInterval)
    return AsyncThrowingStream { try await watch.next() }
  }

  /// Files of the folder that are not read, or not to their end, by name; nothing is done to them.
  ///
  /// - Throws: ``RemoteError``.
  public func ignoredFiles() async throws -> [IgnoredFile] { try await folder.ignoredFiles() }

  /// A file that is none of the space's, or whose end is not whole.
  public struct IgnoredFile: Hashable, Sendable {
    public var name: String
    /// From which byte on.
    public var offset: Int
    public var reason: String
  }
}
