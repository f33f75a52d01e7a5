import TernCore

/// The other side of a sync: one space on a server, a folder, or memory.
///
/// Every call may be repeated. A call that fails has changed nothing, or has done exactly what it
/// would have done on success with its answer lost.
public protocol Remote: Sendable {
  /// Names this remote in the replica's own tables, e.g. its URL and space. Stable over restarts.
  var id: String { get }

  /// Says what the remote is and has: the first call of every session. Changes nothing but that a
  /// remote which knows its members claims the replica's id for the one who asks.
  ///
  /// - Parameter replica: who greets; `nil` for somebody who only looks.
  /// - Throws: ``RemoteError``, `CancellationError`.
  func greet(as replica: ReplicaID?) async throws -> RemoteGreeting

  /// Stores operations in their order; returns when they are durable there.
  ///
  /// - Throws: ``RemoteError``, `CancellationError`.
  func push(_ operations: [SyncOperation]) async throws -> PushReceipt

  /// Operations after `cursor`, from the beginning when it is `nil`, without those of `excluded`:
  /// who wrote them need not fetch them. The cursor passes them all the same.
  ///
  /// - Throws: ``RemoteError``, `CancellationError`.
  func pull(after cursor: RemoteCursor?, excluding excluded: ReplicaID) async throws -> PulledPage

  /// The space's newest position, now and whenever it grows, until the connection ends; it may
  /// repeat one, and skip those that another followed at once. Ends by ``RemoteError`` where it
  /// does not end by itself.
  ///
  /// - Parameter cursor: up to where the one who listens has the space. A remote can have lost what
  ///   lies before it since the last pull, and have grown to the same position again. One that
  ///   sees this ends the stream with `cursor-unknown`, and the engine greets. Others ignore it.
  func positions(after cursor: RemoteCursor?) -> AsyncThrowingStream<UInt64, any Error>

  // MARK: - Snapshots, which a remote need not have

  /// Whether it keeps snapshots; the calls below are made of one that does.
  var keepsSnapshots: Bool { get }

  /// One part of a whole snapshot, byte for byte as it was put.
  ///
  /// - Throws: ``RemoteError``, with `snapshot-unknown` once newer ones took its place;
  ///   `CancellationError`.
  func snapshotPart(_ index: Int, of id: String) async throws -> [UInt8]

  /// Begins an upload, or goes on with the one that was begun by an equal offer.
  ///
  /// - Throws: ``RemoteError``, with `snapshot-superseded` when it is not needed any more,
  ///   `snapshot-incomplete`, `cursor-unknown`, `sequence-gap` where heads are ahead of what was
  ///   pushed, or `too-large`; `CancellationError`.
  func beginSnapshot(_ offer: SnapshotOffer) async throws -> SnapshotUpload

  /// Stores one part, in any order; returns when it is durable there. The same part again is
  /// acknowledged.
  ///
  /// - Throws: ``RemoteError``, with `snapshot-unknown` when the upload was dropped for a newer one
  ///   or for its age, `snapshot-conflict` or `too-large`; `CancellationError`.
  func putSnapshotPart(_ bytes: [UInt8], index: Int, of id: String) async throws

  /// Makes a snapshot whose parts are all there the remote's newest; from then on it is in the
  /// greeting.
  ///
  /// - Throws: ``RemoteError``, with `snapshot-incomplete`, `snapshot-refused`,
  ///   `snapshot-unknown`, `snapshot-superseded` or, of a base, `refill-needed`;
  ///   `CancellationError`.
  func completeSnapshot(_ id: String) async throws

  // MARK: - State reports, which a remote need not take

  /// Tells others what this replica's state is, for them to compare; asked for by
  /// ``RemoteGreeting/wantsState``, and where the state differs from ``RemoteGreeting/state``.
  ///
  /// - Throws: ``RemoteError``, with `state-superseded` when the space has grown since;
  ///   `CancellationError`.
  func report(_ state: StateReport) async throws
}

extension Remote {
  /// Greets as somebody who only looks.
  public func greet() async throws -> RemoteGreeting { try await greet(as: nil) }

  public var keepsSnapshots: Bool { false }

  public func snapshotPart(_ index: Int, of id: String) async throws -> [UInt8] {
    throw noSnapshots
  }

  public func beginSnapshot(_ offer: SnapshotOffer) async throws -> SnapshotUpload {
    throw noSnapshots
  }

  public func putSnapshotPart(_ bytes: [UInt8], index: Int, of id: String) async throws {
    throw noSnapshots
  }

  public func completeSnapshot(_ id: String) async throws { throw noSnapshots }

  public func report(_ state: StateReport) async throws {}

  private var noSnapshots: RemoteError {
    RemoteError(.snapshotsUnsupported, "this remote keeps operations alone; sync without snapshots")
  }
}
