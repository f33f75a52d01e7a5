import TernCore

/// The other side of a sync: one space on a server, a folder, or memory.
///
/// Every call may be repeated. A call that fails has changed nothing, or has done exactly what it
/// would have done on success with its answer lost.
public protocol Remote: Sendable {
  /// Names this remote in the replica's own tables, e.g. its URL and space. Stable over restarts.
  var id: String { get }

  /// - Throws: ``RemoteError``, `CancellationError`.
  func greet() async throws -> RemoteGreeting

  /// Stores operations in their order; returns when they are durable there.
  ///
  /// - Throws: ``RemoteError``, `CancellationError`.
  func push(_ operations: [Operation]) async throws -> PushReceipt

  /// Operations after `cursor`, from the beginning when it is `nil`, without those of `excluded`:
  /// who wrote them need not fetch them. The cursor passes them all the same.
  ///
  /// - Throws: ``RemoteError``, `CancellationError`.
  func pull(after cursor: Cursor?, excluding excluded: ReplicaID) async throws -> PulledPage

  /// The space's newest position, now and whenever it grows, until the connection ends.
  func positions() -> AsyncThrowingStream<UInt64, any Error>
}
