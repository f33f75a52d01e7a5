#if os(Linux) || os(macOS)
import Tern

/// Says what the remote acknowledged, as soon as the answer is there.
struct TellingRemote: Remote {
  let base: any Remote
  let say: @Sendable (_ replica: ReplicaID, _ sequence: UInt64) -> Void

  var id: String { base.id }
  var keepsSnapshots: Bool { base.keepsSnapshots }

  func push(_ operations: [SyncOperation]) async throws -> PushReceipt {
    let receipt = try await base.push(operations)
    var stored: [ReplicaID: UInt64] = [:]
    for operation in operations {
      stored[operation.envelope.replica] = operation.envelope.sequence
    }
    for (replica, sequence) in stored { say(replica, sequence) }
    return receipt
  }

  func greet(as replica: ReplicaID?) async throws -> RemoteGreeting {
    try await base.greet(as: replica)
  }

  func pull(after cursor: RemoteCursor?, excluding excluded: ReplicaID) async throws -> PulledPage {
    try await base.pull(after: cursor, excluding: excluded)
  }

  func positions(after cursor: RemoteCursor?) -> AsyncThrowingStream<UInt64, any Error> {
    base.positions(after: cursor)
  }

  func snapshotPart(_ index: Int, of id: String) async throws -> [UInt8] {
    try await base.snapshotPart(index, of: id)
  }

  func beginSnapshot(_ offer: SnapshotOffer) async throws -> SnapshotUpload {
    try await base.beginSnapshot(offer)
  }

  func putSnapshotPart(_ bytes: [UInt8], index: Int, of id: String) async throws {
    try await base.putSnapshotPart(bytes, index: index, of: id)
  }

  func completeSnapshot(_ id: String) async throws { try await base.completeSnapshot(id) }

  func report(_ state: StateReport) async throws { try await base.report(state) }
}
#endif
