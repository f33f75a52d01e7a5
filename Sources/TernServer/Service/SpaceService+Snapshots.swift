#if Server
@_spi(Rehearsal) import TernCore

extension SpaceService {
  /// How many whole snapshots stay: who is loading the older one is not cut off.
  static let keptSnapshots = 2

  /// Begins an upload, or goes on with the one of an equal offer.
  ///
  /// - Throws: ``RemoteError``, see ``SnapshotAdmission``, and `too-many-spaces`.
  public func beginSnapshot(_ offer: SnapshotOffer, in space: SpaceName) throws -> SnapshotUpload {
    try SnapshotAdmission.checkShape(offer, limits)
    let beginning = SpaceCursor(epoch: store.epoch, position: 0, chain: nil).cursor
    let admission = SnapshotAdmission(
      cursor: offer.cursor ?? beginning, isBase: offer.isBase, heads: offer.heads, limits: limits,
      now: clock.nowMilliseconds)
    let id = offer.id(at: admission.cursor)
    return try store.update(space) { transaction in
      try checkRoom(transaction)
      try dropOldUploads(transaction)
      if let known = try transaction.snapshot(id), known.isComplete {
        return SnapshotUpload(id: id, missing: [])
      }
      let position = try admission.check(transaction, epoch: store.epoch)
      if var known = try transaction.snapshot(id) {
        known.touchedMilliseconds = clock.nowMilliseconds
        try transaction.update(known)
      } else {
        try makeRoomForUpload(transaction)
        let snapshot = StoredSnapshot(
          id: id, cursor: admission.cursor, position: position, isBase: offer.isBase,
          parts: offer.parts, touchedMilliseconds: clock.nowMilliseconds)
        try transaction.add(snapshot, heads: offer.heads)
      }
      let stored = try transaction.storedParts(of: id)
      return SnapshotUpload(id: id, missing: (0..<offer.parts).filter { !stored.contains($0) })
    }
  }

  /// Stores one part; the same part again is acknowledged.
  ///
  /// - Throws: ``RemoteError`` with `snapshot-unknown`, `snapshot-conflict`, `malformed` or
  ///   `too-large`.
  public func putSnapshotPart(
    _ bytes: [UInt8], index: Int, of id: String, in space: SpaceName
  ) throws {
    guard !bytes.isEmpty else { throw RemoteError(.malformed, "a snapshot's part is not empty") }
    guard bytes.count <= limits.snapshotPartBytes else {
      throw RemoteError(
        .tooLarge,
        "snapshotPartBytes: a part has at most \(limits.snapshotPartBytes) bytes; make more parts")
    }
    let digest = PartDigest(part: bytes)
    try store.update(space) { transaction in
      var snapshot = try find(id, transaction)
      guard (0..<snapshot.parts).contains(index) else {
        throw RemoteError(
          .malformed, "the snapshot was offered with \(snapshot.parts) parts, numbered from 0")
      }
      if let stored = try transaction.partDigest(index, of: id) {
        guard stored == digest else {
          throw RemoteError(
            .snapshotConflict,
            "part \(index) was stored with other bytes; a snapshot's key names one content")
        }
        return
      }
      guard bytes.count <= limits.snapshotBytes - snapshot.bytes else {
        throw RemoteError(
          .tooLarge, "snapshotBytes: a snapshot has at most \(limits.snapshotBytes) bytes")
      }
      try transaction.addPart(bytes, digest: digest, index: index, of: id)
      snapshot.bytes += bytes.count
      snapshot.touchedMilliseconds = clock.nowMilliseconds
      try transaction.update(snapshot)
    }
  }

  /// Makes a snapshot whose parts are all there the newest, at once and durably, and then does
  /// what ``maintain(_:)`` does, once. Doing it again is acknowledged.
  ///
  /// - Returns: whether there is more to maintain.
  /// - Throws: ``RemoteError``, see ``SnapshotAdmission``; `snapshot-unknown`.
  @discardableResult
  public func completeSnapshot(_ id: String, in space: SpaceName) throws -> Bool {
    let grown = try store.update(space) { transaction -> UInt64? in
      let snapshot = try find(id, transaction)
      if snapshot.isComplete { return nil }
      let stored = try transaction.storedParts(of: id).count
      guard stored == snapshot.parts else {
        throw RemoteError(
          .snapshotIncomplete,
          "\(snapshot.parts - stored) of \(snapshot.parts) parts are missing; begin again to learn "
            + "which")
      }
      let whole = try admit(snapshot, transaction)
      try transaction.update(whole)
      try dropOlder(than: whole, transaction)
      try CrashPoint.reach(.serverBeforeSnapshot)
      return whole.isBase ? whole.position : nil
    }
    try CrashPoint.reach(.serverAfterSnapshot)
    if let grown { board.publish(grown, of: space) }
    return try maintain(space)
  }

  /// - Throws: ``RemoteError`` with `snapshot-unknown`.
  public func snapshotPart(_ index: Int, of id: String, in space: SpaceName) throws -> [UInt8] {
    guard let bytes = try store.snapshotPart(index, of: id, in: space) else { throw unknown(id) }
    return bytes
  }

  // MARK: - Steps

  private func find(_ id: String, _ transaction: any SpaceTransaction) throws -> StoredSnapshot {
    guard let snapshot = try transaction.snapshot(id) else { throw unknown(id) }
    return snapshot
  }

  private func unknown(_ id: String) -> RemoteError {
    RemoteError(
      .snapshotUnknown,
      "the space has no such snapshot or part: it expired (uploadAge), gave way to another upload "
        + "(uploadsPerSpace), or newer ones took its place; greet again")
  }

  /// The snapshot as it is from now on; a base also becomes a place of the space.
  private func admit(_ snapshot: StoredSnapshot, _ transaction: any SpaceTransaction) throws
    -> StoredSnapshot
  {
    let heads = try transaction.snapshotHeads(of: snapshot.id)
    let admission = SnapshotAdmission(
      cursor: snapshot.cursor, isBase: snapshot.isBase, heads: heads, limits: limits,
      now: clock.nowMilliseconds)
    _ = try admission.check(transaction, epoch: store.epoch)
    var whole = snapshot
    whole.isComplete = true
    guard snapshot.isBase else { return whole }
    var authors = try transaction.heads()
    for (author, head) in heads where head.sequence > authors[author]?.sequence ?? 0 {
      authors[author] = AuthorHead(sequence: head.sequence, time: head.time, continues: false)
    }
    let chain = try transaction.appendBase(OperationDigest(base: snapshot.id), heads: authors)
    whole.position = transaction.position + 1
    whole.cursor = SpaceCursor(epoch: store.epoch, position: whole.position, chain: chain).cursor
    try transaction.trim(through: whole.position)
    return whole
  }

  /// Uploads that came too late, and snapshots beyond those that are kept or that no pull goes on
  /// from.
  private func dropOlder(than newest: StoredSnapshot, _ transaction: any SpaceTransaction) throws {
    let others = try transaction.snapshots().filter { $0.id != newest.id }
    let trimmed = try transaction.trimmed
    let kept = others.filter { $0.isComplete && $0.position >= trimmed }
      .suffix(Self.keptSnapshots - 1).map(\.id)
    for other in others where !kept.contains(other.id) {
      if other.isComplete || other.position <= newest.position { try transaction.drop(other.id) }
    }
  }

  private func makeRoomForUpload(_ transaction: any SpaceTransaction) throws {
    var uploads = try transaction.snapshots().filter { !$0.isComplete }
      .sorted { ($0.touchedMilliseconds, $0.id) < ($1.touchedMilliseconds, $1.id) }
    while uploads.count >= limits.uploadsPerSpace, !uploads.isEmpty {
      try transaction.drop(uploads.removeFirst().id)
    }
  }
}
#endif
