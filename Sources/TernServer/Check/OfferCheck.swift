#if Server
import GRDB
import TernCore

/// Holds an offered snapshot against what the space is known to have: the snapshot before, which
/// was held against the one before that, and the log since.
///
/// What was written is to be in it, and nothing that nobody wrote. The bytes of snapshots and of
/// operations that stand before the space's head don't change, so nothing is locked meanwhile.
struct OfferCheck {
  let space: SpaceName
  let offered: StoredSnapshot
  /// Of every replica, the last operation that the offer says is in it.
  let offeredHeads: [ReplicaID: SnapshotHead]
  /// The newest whole one, which stands for everything up to its position.
  let previous: StoredSnapshot?
  /// Those of the space.
  let heads: [ReplicaID: AuthorHead]
  /// The space's newest position.
  let end: UInt64
  /// A digest of what was uploaded.
  let content: [UInt8]

  /// What came of it.
  struct Outcome {
    /// Why the snapshot can't be taken; `nil` where it can.
    var refusal: String?
    /// The operations that it carries along, by which the space can tell that they are its own.
    var carried: [OperationKey: OperationDigest] = [:]
  }

  /// - Throws: what the store throws; ``RemoteError`` with `unavailable` where the snapshot before
  ///   gave way meanwhile.
  func run(in store: any SpaceStore) throws -> Outcome {
    try run(
      reading: OfferSource { index, snapshot in
        try store.snapshotPart(index, of: snapshot.id, in: space, isWhole: snapshot.isComplete)
      } operations: { position in
        let page = try store.page(
          of: space, after: position, excluding: nil, contentBytes: 1 << 20,
          operations: OperationBatch.Limit.operations)
        return OfferSource.Operations(trimmed: page.trimmed, bytes: page.operations, end: page.end)
      })
  }

  func run(reading source: OfferSource) throws -> Outcome {
    try DatabaseQueue().write { db in
      let run = OfferCheckRun(self, source, try TracedRows(db))
      do {
        return Outcome(refusal: try run.refusal(), carried: run.newlyCarried)
      } catch let error as WireError {
        return Outcome(refusal: "it can't be read: \(error)")
      } catch is SnapshotParts.Disorder {
        return Outcome(refusal: "it is not whole: parts are missing, too many or out of order")
      } catch let error as OfferCheckRun.Refusal {
        return Outcome(refusal: error.reason)
      }
    }
  }
}
#endif
