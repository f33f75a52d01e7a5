#if Server
import TernCore

/// An operator lets go of a snapshot that is wrong.
extension SpaceService {
  /// Drops a snapshot or an upload, durably and for good. ``maintain(_:)`` removes its bytes.
  ///
  /// Bases that no other snapshot stands for go with it. Their places stay, and pages pass over
  /// them, over what their authors wrote behind them too: of an author who has a number that
  /// only the base stood for, the space takes the operations from that number on again. Reads the
  /// numbers of all operations since the snapshot before.
  ///
  /// - Throws: ``RemoteError`` with `snapshot-unknown`, or `snapshot-conflict` for the only one
  ///   that stands for trimmed operations, for a base on which a newer one was cut, and where an
  ///   older one can still be brought back.
  public func dropSnapshot(_ id: String, in space: SpaceName) throws {
    try access.update(space) { space in
      let rows = space.rows
      let snapshot = try space.intake.find(id)
      let newest = try rows.snapshots().last(where: \.isComplete)
      if snapshot.isComplete, snapshot.isBase, let newest, newest.id != id {
        throw RemoteError(
          .snapshotConflict,
          "the space goes on from this base, and snapshot \(newest.id) was cut on top of it; drop "
            + "that one first")
      }
      try rows.drop(id, keptFrom: nil)
      try space.record(.dropSnapshot, ["snapshot": id])
      guard snapshot.isComplete else { return }
      let before = try rows.snapshots().last(where: \.isComplete)
      let (trimmed, held) = (try rows.trimmed, before?.position ?? 0)
      guard held >= trimmed else {
        throw RemoteError(
          .snapshotConflict,
          "operations up to \(trimmed) are trimmed, and only this snapshot stands for what is served "
            + "no more; have a device give another one first, or restore the space")
      }
      let base = try rows.basePosition
      guard base > held else { return }
      guard rows.standing.phase != .leaving else {
        throw RemoteError(
          .unavailable,
          "the space is being copied to another store, and this would change what is copied; let "
            + "'tern space move' finish, or end the move with --cancel")
      }
      guard try !rows.droppedSnapshots().contains(where: { $0.position >= base }) else {
        throw RemoteError(
          .snapshotConflict,
          "what stood for the base before is kept for a few days, and this would let go of it; bring "
            + "it back first with 'tern space restore'")
      }
      try space.passBases(after: before)
    }
  }
}

extension LockedSpace {
  fileprivate func passBases(after snapshot: StoredSnapshot?) throws {
    let position = snapshot?.position ?? 0
    // What was cut on top of a base has what nobody wrote any more.
    for other in try rows.snapshots() where !other.isComplete && other.position > position {
      try rows.drop(other.id, keptFrom: nil)
    }
    for other in try rows.droppedSnapshots() where other.position > position {
      try rows.forget(other)
    }
    let held = try snapshot.map { try rows.snapshotHeads(of: $0.id) } ?? [:]
    let changed = try rows.passBases(after: position, held: held)
    for (author, record) in try rows.authorRecords(of: Set(changed.keys)) {
      var record = record
      let last = (changed[author] ?? nil)?.sequence ?? 0
      record.forget(after: last)
      // What only the base had comes under those numbers from nobody: who loaded it begins anew.
      record.bannedAfter = record.bannedAfter.map { min($0, last) }
      try rows.set(record, of: author)
    }
  }
}
#endif
