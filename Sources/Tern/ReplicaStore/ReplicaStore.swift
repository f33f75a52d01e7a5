/// Everything durable of one replica: cells, stamps, log and cursors. There are two,
/// ``SQLiteReplicaStore`` and, beside Tern's tests, `MemoryReplicaStore`, which pass one
/// conformance suite.
///
/// Calls are synchronous and each is one transaction: it happened whole, or it threw and nothing
/// did. They may block; the engine makes them on an executor of its own.
package protocol ReplicaStore: Sendable {
  /// Turns every noted write into operations. Cheap when there is none. Merges what was put aside
  /// until now, because its time was ahead of the clock.
  ///
  /// A row longer than ``SyncOperation/Limit/rowBytes`` is left out, and in
  /// ``ReplicaCounts/largeRows`` until a later write makes it short enough or deletes it.
  ///
  /// - Returns: the sequence numbers of the new operations; empty when nothing was noted.
  @discardableResult
  func seal() throws -> Range<UInt64>

  /// What is merged here, this replica's own operations included.
  func versionVector() throws -> VersionVector

  /// What is in the log or was: merged, or the beginning of a group whose rest has not come.
  func storedVersionVector() throws -> VersionVector

  /// Operations that a remote with these heads lacks, in an order it accepts, up to about
  /// `maximumBytes`, and at least one if there is one.
  func operations(lackedBy heads: VersionVector, maximumBytes: Int) throws -> [SyncOperation]

  /// Seals, merges a page, and moves the remote's cursor, in one transaction (INV-05, INV-06).
  /// Operations that are merged already are passed over. A group of which a body cannot be read
  /// is put aside whole: it is in the log, in ``ReplicaCounts/pending``, and passed on. One
  /// whose time is more than five minutes ahead, of this clock and of the page's, is put aside
  /// until that is so no longer, and passed on then.
  ///
  /// Of an author of whom the remote has another operation than is here, under one number, nothing
  /// more is taken from that remote; ``ReplicaCounts/forks`` names it.
  ///
  /// Can be done in parts, so that others can write in between.
  ///
  /// - Parameter isOver: asked once others are kept from writing, and behind each group of
  ///   operations. Where it says so there, the transaction ends, and the cursor stays where it was
  ///   until the rest is merged too (INV-05).
  /// - Returns: how many of the page's operations are merged.
  /// - Throws: ``MergeError`` for an operation that does not follow what is here.
  func merge(_ page: PulledPage, from remote: RemotePlace, until isOver: () -> Bool) throws
    -> (MergeSummary, merged: Int)

  /// Where this replica stands at a remote, or `nil` before its first greeting.
  func place(at remoteID: String) throws -> RemotePlace?

  /// Forgets the cursor, because the remote was wiped or restored.
  func resetPlace(_ place: RemotePlace) throws

  /// Of whom that remote has other operations, in the order of their ids; without a remote, what
  /// other replicas told of the id that this one has.
  func forks(at remoteID: String?) throws -> [ReplicaFork]

  /// Forgets those of whom a remote that was wiped does not hold so many operations any more.
  func dropForks(at remoteID: String, beyond heads: VersionVector) throws

  /// Tells all others of whom ``ReplicaCounts/forks`` has something, by an operation without rows,
  /// where that is not what was told last.
  ///
  /// - Returns: whether there is a new operation.
  func tellForks() throws -> Bool

  /// ``operations(lackedBy:maximumBytes:)`` for a push to one remote, without those of a replica in
  /// ``ReplicaCounts/forks`` there. From now on that remote may hold
  /// what is returned, whatever becomes of the push, so no other remote's clock gives this
  /// replica's own operations in it new times. Costs no commit where all of them
  /// were offered before.
  ///
  /// - Parameter repeated: authors of whom, where the remote lacks anything, the last that it has
  ///   comes first, as far as the log still has that.
  func offer(
    lackedBy heads: VersionVector, repeating repeated: Set<ReplicaID>, maximumBytes: Int,
    to remoteID: String
  ) throws -> [SyncOperation]

  /// Remembers that a remote acknowledged this replica's operations up to a sequence number. They
  /// keep their times for good, also where the remote is wiped and its clock set back (INV-11):
  /// others may have them. Costs no commit where that is known.
  func noteAccepted(of sequence: UInt64, by remoteID: String) throws

  /// Gives this replica's operations that no remote holds, and that are more than five minutes
  /// ahead of the remote's clock, new times: after everything merged here, not before that clock.
  /// What another remote was offered, or this one accepted before, keeps its time.
  ///
  /// - Parameters:
  ///   - accepted: this replica's newest sequence number at the remote.
  ///   - remoteID: the remote, of which that is known, whatever it was offered.
  ///   - nowMilliseconds: the remote's clock.
  func restamp(after accepted: UInt64, at remoteID: String, nowMilliseconds: Int64) throws

  /// Measures how far the remote's clock is ahead of this one, in milliseconds, and corrects the
  /// times of later writes when it is more than five minutes.
  func correctClock(nowMilliseconds: Int64) throws -> Int64

  /// Whether a ``seal()`` would find something to do. Asked again and again while nothing happens:
  /// it costs the same however long the log is.
  func hasNews() throws -> Bool

  /// This replica's id, and the newest sequence number of its own. Asked as often.
  func ownHead() throws -> (id: ReplicaID, sequence: UInt64)

  /// Counts what is here; may look at every row that is quarantined or deferred.
  func counts() throws -> ReplicaCounts

  /// Forgets operations that every remote holds and that are older than the store keeps them, and
  /// remembers that this remote holds these. What waits, and the newest operations, stay.
  ///
  /// - Parameter heads: what the remote is known to hold.
  func trim(heldBy heads: VersionVector, at remoteID: String) throws

  /// Whether operations that a remote with these heads lacks are not in the log any more.
  func hasTrimmed(lackedBy heads: VersionVector) throws -> Bool

  /// Seals, and hands out the whole merged state in parts, as of one moment (INV-06): rows, what
  /// waits for an upgrade or the clock, and up to where every replica's operations are in it. In
  /// memory are one part and one row.
  ///
  /// - Throws: ``SnapshotError``, and what `write` throws.
  func cutSnapshot(_ write: (_ part: [UInt8]) throws -> Void) throws -> SnapshotSummary

  /// Puts a snapshot's state in the place of this replica's, merges the log's operations that it
  /// lacks again on top, and moves the remote's cursor, in one transaction (INV-05, INV-06).
  ///
  /// - Parameters:
  ///   - isRepairing: whether rows whose state is equal are written too where their table shows
  ///     something else.
  ///   - part: by its number from 0, and `nil` behind the last; may be asked from
  ///     the beginning again.
  /// - Throws: ``SnapshotError``, ``WireError``, ``MergeError`` where it holds more of this replica
  ///   than this replica made, and what `part` throws.
  func loadSnapshot(
    from origin: SnapshotOrigin?, isRepairing: Bool, _ part: (_ index: Int) throws -> [UInt8]?
  ) throws -> SnapshotSummary

  /// Up to which own operation the remote has said that it has them.
  func accepted(by remoteID: String) throws -> UInt64

  /// Gives this replica a new id, because another copy of its database goes on under the one that
  /// it has: its own operations after `last` become those of the new id, from 1 on, in the log and
  /// in the state, in one transaction that leaves the app's tables as they are (INV-02, INV-05).
  /// All cursors go back to the beginning.
  ///
  /// - Parameters:
  ///   - former: the id that it has.
  ///   - last: the last own operation that the remote has just so. It must have no later one.
  /// - Returns: `nil`, and nothing is changed, where it has another id by now, the remote or
  ///   another one may have a later one, or the log no longer begins at the beginning and does
  ///   not say enough.
  func changeID(from former: ReplicaID, after last: UInt64, at remoteID: String) throws
    -> ReplicaIDChange?

  /// The same where a remote has lost what it had (0045). The new id's are the operations that no
  /// remote was offered; where these can't be renamed, it has none yet. In the same transaction
  /// the replica stands at the beginning of the remote's history.
  ///
  /// - Parameters:
  ///   - place: at that remote.
  ///   - heads: what the remote holds.
  ///   - isTold: whether it is because another replica told of a fork. Then it is done once a week.
  func leaveID(
    _ former: ReplicaID, for place: RemotePlace, heads: VersionVector, isTold: Bool
  ) throws -> ReplicaIDChange?

  /// What the merged state is, for a comparison with another replica's (INV-01): a look at every
  /// row, as of one moment.
  ///
  /// - Parameter heads: what the remote holds at this replica's cursor there.
  /// - Returns: `nil` where that is not what is here, something is noted that no operation holds,
  ///   is put aside or is too large to travel, or a replica is in ``ReplicaCounts/forks``.
  func stateReport(at remoteID: String, merged heads: VersionVector) throws -> StateReport?

  /// What came of the last comparison at a remote.
  func comparison(at remoteID: String) throws -> StateComparison?

  /// Remembers it; nothing where the remote is not known.
  func save(_ comparison: StateComparison, at remoteID: String) throws

  /// Remembers what a remote says of its authors; costs no commit where that is known.
  func note(_ authors: [ReplicaID: RemoteAuthor], at remoteID: String) throws

  /// The merged state in a form that is equal between replicas with the same operations (INV-01).
  func canonicalState() throws -> [CanonicalRow]
}

extension ReplicaStore {
  package func replicaID() throws -> ReplicaID { try ownHead().id }

  /// Merges a page whole.
  package func merge(_ page: PulledPage, from remote: RemotePlace) throws -> MergeSummary {
    try merge(page, from: remote, until: { false }).0
  }

  /// ``loadSnapshot(from:isRepairing:_:)`` of a state that only is behind.
  package func loadSnapshot(from place: RemotePlace?, _ part: (_ index: Int) throws -> [UInt8]?)
    throws -> SnapshotSummary
  {
    try loadSnapshot(from: place.map { SnapshotOrigin(place: $0) }, isRepairing: false, part)
  }
}
