#if Server
@_spi(Rehearsal) import TernCore

/// How a space takes a snapshot in, and what gives way to it.
struct SnapshotIntake {
  let space: LockedSpace
  private var rows: any SpaceTransaction { space.rows }
  private var limits: ServerLimits { space.limits }
  private var clock: ServerClock { space.clock }

  /// How many whole snapshots stay: who is loading the older one is not cut off.
  static let keptSnapshots = 2

  /// What is to be checked of an upload that is all there; `nil` for a snapshot that is whole.
  func offerCheck(of id: String, by member: MemberName?) throws -> OfferCheck? {
    let snapshot = try find(id)
    if snapshot.isComplete { return nil }
    if let refusal = snapshot.refusal { throw RemoteError.refused(id, refusal) }
    let stored = try rows.storedParts(of: id)
    guard stored.count == snapshot.parts else {
      throw RemoteError(
        .snapshotIncomplete,
        "\(snapshot.parts - stored.count) of \(snapshot.parts) parts are missing; begin again to learn "
          + "which")
    }
    let heads = try rows.snapshotHeads(of: id)
    try checkAdmission(of: snapshot, heads, by: Bringer(member))
    return OfferCheck(
      space: space.name, offered: snapshot, offeredHeads: heads,
      previous: try rows.snapshots().last(where: \.isComplete),
      heads: try rows.heads(), end: rows.position, content: contentDigest(stored))
  }

  /// Takes an upload, or notes why it is refused.
  ///
  /// - Returns: the space's position where that grew by it, and why it is refused.
  func settle(
    _ check: OfferCheck, _ outcome: OfferCheck.Outcome, by bringer: Bringer
  ) throws -> (grown: SpaceHead?, refusal: String?) {
    var snapshot = try find(check.offered.id)
    if snapshot.isComplete { return (nil, nil) }
    // An upload can give way to others, and come again under its name with other parts.
    let stored = try rows.storedParts(of: snapshot.id)
    guard contentDigest(stored) == check.content else { throw RemoteError.unknownSnapshot() }
    guard let refusal = try outcome.refusal ?? strangeRefusal(outcome, check) else {
      return (try take(snapshot, by: bringer), nil)
    }
    snapshot.refusal = refusal
    snapshot.touched = clock.now
    try rows.update(snapshot)
    return (nil, refusal)
  }

  private func checkAdmission(
    of snapshot: StoredSnapshot, _ heads: [ReplicaID: SnapshotHead], by bringer: Bringer
  ) throws {
    let admission = SnapshotAdmission(
      cursor: snapshot.cursor, isBase: snapshot.isBase, schemaVersion: snapshot.schema?.version,
      heads: heads,
      // One that was refused is taken by an operator alone.
      isRefilled: try snapshot.refusal != nil || space.isRefilled,
      now: clock.now)
    _ = try admission.check(rows, epoch: space.epoch)
    if snapshot.isBase {
      try space.room.check(forBase: heads, of: bringer, admission.isRefilled)
    }
  }

  /// Of all parts, in their order.
  private func contentDigest(_ parts: [Int: PartDigest]) -> [UInt8] {
    sha256(parts.sorted { $0.key < $1.key }.flatMap(\.value.bytes))
  }

  /// Why a snapshot is refused that carries other operations along than the space has. Of what only
  /// a base stands for the space knows nothing: those are in the snapshot before, or nowhere.
  ///
  /// - Throws: ``RemoteError`` with `sequence-gap` for one that was not pushed.
  private func strangeRefusal(
    _ outcome: OfferCheck.Outcome, _ check: OfferCheck
  ) throws -> String? {
    let known = try rows.digests(of: Array(outcome.carried.keys))
    for (key, digest) in outcome.carried {
      if known[key] == digest { continue }
      if known[key] == nil, key.sequence > check.heads[key.author]?.sequence ?? 0 {
        if check.offered.isBase { continue }
        throw RemoteError(
          .sequenceGap,
          "the snapshot carries operation \(key.sequence) of replica \(key.author) along, which was not "
            + "pushed; push first", replica: key.author, sequence: key.sequence)
      }
      return
        "it carries operation \(key.sequence) of replica \(key.author) along with content that the "
        + "space does not have"
    }
    return nil
  }

  /// A base that was refused before an operator opened the space is checked once more: what it
  /// was held against may have been dropped or restored since.
  func isLookedAtAgain(_ upload: StoredSnapshot) throws -> Bool {
    guard upload.isBase, try space.isRefilled, let until = try rows.deadlines.refill
    else { return false }
    return upload.touched.milliseconds <= until.milliseconds - limits.refillTime.milliseconds
  }

  func find(_ id: String) throws -> StoredSnapshot {
    guard let snapshot = try rows.snapshot(id) else { throw RemoteError.unknownSnapshot() }
    return snapshot
  }

  /// Makes a snapshot the newest. Returns the space's head where that grew by it.
  func take(_ snapshot: StoredSnapshot, by bringer: Bringer) throws -> SpaceHead? {
    let (whole, chain) = try admit(snapshot, by: bringer)
    try rows.update(whole)
    try dropOlder(than: whole)
    if Planted.isActive(.offerTrims) { try rows.trim(through: whole.position) }
    try CrashPoint.reach(.serverBeforeSnapshot)
    return chain.map { SpaceHead(position: whole.position, chain: $0) }
  }

  /// The snapshot as it is from now on. A base also becomes a place of the space, over which nobody
  /// pulls, and gives the chain up to there. What is before it goes as everything does: by
  /// ``SpaceUpkeep``.
  private func admit(_ snapshot: StoredSnapshot, by bringer: Bringer) throws -> (
    StoredSnapshot, ChainDigest?
  ) {
    let heads = try rows.snapshotHeads(of: snapshot.id)
    try checkAdmission(of: snapshot, heads, by: bringer)
    var whole = snapshot
    (whole.isComplete, whole.refusal) = (true, nil)
    guard snapshot.isBase else { return (whole, nil) }
    var authors = try rows.heads()
    let records = try rows.authorRecords(of: Set(heads.keys))
    for (author, head) in heads {
      let last = authors[author]?.sequence ?? 0
      guard head.sequence > last else { continue }
      var record = records[author] ?? AuthorRecord()
      record.noteBrought(last + 1...head.sequence, by: bringer)
      if record != records[author] { try rows.set(record, of: author) }
      authors[author] = AuthorHead(sequence: head.sequence, time: head.time, continues: false)
    }
    let chain = try rows.appendBase(OperationDigest(base: snapshot.id), heads: authors)
    whole.position = rows.position + 1
    whole.cursor = SpaceCursor(epoch: space.epoch, position: whole.position, chain: chain).cursor
    return (whole, chain)
  }

  /// Uploads that came too late, and snapshots beyond those that are kept or that no pull goes on
  /// from.
  private func dropOlder(than newest: StoredSnapshot) throws {
    let others = try rows.snapshots().filter { $0.id != newest.id }
    let trimmed = try rows.trimmed
    let kept = others.filter { $0.isComplete && $0.position >= trimmed }
      .suffix(Self.keptSnapshots - 1).map(\.id)
    for other in others where !kept.contains(other.id) {
      guard other.isComplete || other.position <= newest.position else { continue }
      try rows.drop(other.id, keptFrom: other.isComplete ? clock.now : nil)
    }
  }

  func makeRoomForUpload() throws {
    var uploads = try rows.snapshots().filter { !$0.isComplete }
      .sorted { ($0.touched, $0.id) < ($1.touched, $1.id) }
    while uploads.count >= limits.uploadsPerSpace, !uploads.isEmpty {
      try rows.drop(uploads.removeFirst().id, keptFrom: nil)
    }
  }
}

extension RemoteError {
  static func refused(_ id: String, _ reason: String) -> RemoteError {
    RemoteError(
      .snapshotRefused,
      "the snapshot was refused: \(reason). The space asks for another after a while. If this one is "
        + "right, the server's operator accepts it: 'tern snapshot accept --data FILE SPACE \(id)'")
  }

  static func unknownSnapshot() -> RemoteError {
    RemoteError(
      .snapshotUnknown,
      "the space has no such snapshot or part: it expired (uploadAge), gave way to another upload "
        + "(uploadsPerSpace), or newer ones took its place; greet again")
  }
}
#endif
