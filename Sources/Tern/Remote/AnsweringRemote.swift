import TernCore

/// A remote as an engine asks it: a cancellation that is not the engine's own, of a task that the
/// remote waited for, is an answer that did not come.
struct AnsweringRemote: Remote {
  private let base: any Remote

  init(_ base: any Remote) {
    self.base = base
  }

  var id: String { base.id }
  var keepsSnapshots: Bool { base.keepsSnapshots }

  func greet(as replica: ReplicaID?) async throws -> RemoteGreeting {
    try await answer { try await base.greet(as: replica) }
  }

  func push(_ operations: [SyncOperation]) async throws -> PushReceipt {
    try await answer { try await base.push(operations) }
  }

  func pull(after cursor: RemoteCursor?, excluding excluded: ReplicaID) async throws -> PulledPage {
    try await answer { try await base.pull(after: cursor, excluding: excluded) }
  }

  func positions(after cursor: RemoteCursor?) -> AsyncThrowingStream<UInt64, any Error> {
    base.positions(after: cursor)
  }

  func snapshotPart(_ index: Int, of id: String) async throws -> [UInt8] {
    try await answer { try await base.snapshotPart(index, of: id) }
  }

  func beginSnapshot(_ offer: SnapshotOffer) async throws -> SnapshotUpload {
    try await answer { try await base.beginSnapshot(offer) }
  }

  func putSnapshotPart(_ bytes: [UInt8], index: Int, of id: String) async throws {
    try await answer { try await base.putSnapshotPart(bytes, index: index, of: id) }
  }

  func completeSnapshot(_ id: String) async throws {
    try await answer { try await base.completeSnapshot(id) }
  }

  func report(_ state: StateReport) async throws {
    try await answer { try await base.report(state) }
  }

  private func answer<T>(_ ask: () async throws -> T) async throws -> T {
    do {
      return try await ask()
    } catch is CancellationError where !Task.isCancelled {
      throw RemoteError(.unreachable, "the remote cancelled what it was asked, and not the sync")
    }
  }
}
