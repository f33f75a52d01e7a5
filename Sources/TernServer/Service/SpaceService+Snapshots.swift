#if Server
@_spi(Rehearsal) import TernCore

extension SpaceService {
  /// How many whole snapshots stay: who is loading the older one is not cut off.
  static let keptSnapshots = 2

  /// Begins an upload, or goes on with the one of an equal offer.
  ///
  /// - Throws: ``RemoteError``, see ``SnapshotAdmission``, and `too-many-spaces`.
  /// - Parameter member: who offers it; `nil` for somebody whom no token names.
  public func beginSnapshot(
    _ offer: SnapshotOffer, in space: SpaceName, by member: MemberName? = nil
  ) throws -> SnapshotUpload {
    try SnapshotAdmission.checkShape(offer, limits)
    let beginning = SpaceCursor(epoch: store.epoch, position: 0, chain: nil).cursor
    let admission = SnapshotAdmission(
      cursor: offer.cursor ?? beginning, isBase: offer.isBase, schemaVersion: offer.schema?.version,
      heads: offer.heads, now: clock.nowMilliseconds)
    let id = offer.id(at: admission.cursor)
    try checkDisk(adding: 0)
    return try store.update(space) { [admission] transaction in
      var admission = admission
      admission.isRefilled = try isRefilled(transaction)
      try checkRoom(transaction)
      try dropOldUploads(transaction)
      let known = try transaction.snapshot(id)
      if known?.isComplete ?? false { return SnapshotUpload(id: id, missing: []) }
      if let known, let refusal = known.refusal, try !isLookedAtAgain(known, transaction) {
        throw refused(id, refusal)
      }
      let position = try admission.check(transaction, epoch: store.epoch)
      if offer.isBase {
        try checkRoom(forBase: offer.heads, of: Bringer(member), admission.isRefilled, transaction)
      }
      if var known {
        (known.touchedMilliseconds, known.refusal) = (clock.nowMilliseconds, nil)
        try transaction.update(known)
      } else {
        try makeRoomForUpload(transaction)
        let snapshot = StoredSnapshot(
          id: id, cursor: admission.cursor, position: position, isBase: offer.isBase,
          schema: offer.schema, parts: offer.parts, touchedMilliseconds: clock.nowMilliseconds)
        try transaction.add(snapshot, heads: offer.heads)
      }
      let stored = try transaction.storedParts(of: id)
      return SnapshotUpload(id: id, missing: (0..<offer.parts).filter { stored[$0] == nil })
    }
  }

  /// Stores one part; the same part again is acknowledged.
  ///
  /// - Throws: ``RemoteError`` with `snapshot-unknown`, `snapshot-conflict`, `malformed`,
  ///   `too-large` or `space-full`; with `unavailable` below the disk's reserve.
  public func putSnapshotPart(
    _ bytes: [UInt8], index: Int, of id: String, in space: SpaceName
  ) throws {
    try putSnapshotPart(bytes, PartDigest(part: bytes), index: index, of: id, in: space)
  }

  /// - Parameter digest: of `bytes`, which takes a while.
  func putSnapshotPart(
    _ bytes: [UInt8], _ digest: PartDigest, index: Int, of id: String, in space: SpaceName
  ) throws {
    guard !bytes.isEmpty else { throw RemoteError(.malformed, "a snapshot's part is not empty") }
    guard bytes.count <= limits.snapshotPartBytes else {
      throw RemoteError(
        .tooLarge,
        "snapshotPartBytes: a part has at most \(limits.snapshotPartBytes) bytes; make more parts")
    }
    try checkDisk(adding: bytes.count)
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
      try checkQuota(part: bytes.count, of: snapshot, transaction)
      try transaction.addPart(bytes, digest: digest, index: index, of: id)
      snapshot.bytes += bytes.count
      snapshot.touchedMilliseconds = clock.nowMilliseconds
      try transaction.update(snapshot)
    }
  }

  /// Checks a snapshot whose parts are all there, makes it the newest, at once and durably, and
  /// then does what ``maintain(_:)`` does, once. Doing it again is acknowledged.
  ///
  /// The check reads the snapshot, the one before it and the log since, and locks nothing.
  /// - Returns: whether there is more to maintain.
  /// - Throws: ``RemoteError``, see ``SnapshotAdmission``; `snapshot-unknown`; `snapshot-refused`
  ///   where the space is known to have something else than is in it.
  @discardableResult
  public func completeSnapshot(
    _ id: String, in space: SpaceName, by member: MemberName? = nil
  ) throws -> Bool {
    guard let check = try offerCheck(of: id, in: space, by: member) else {
      return try maintain(space)
    }
    let outcome = Planted.isActive(.offerUnchecked) ? .init() : try check.run(in: store)
    let (grown, refusal) = try store.update(space) { transaction -> (UInt64?, String?) in
      var snapshot = try find(id, transaction)
      if snapshot.isComplete { return (nil, nil) }
      // An upload can give way to others, and come again under its name with other parts.
      let stored = try transaction.storedParts(of: id)
      guard contentDigest(stored) == check.content else { throw unknown(id) }
      if let refusal = try outcome.refusal ?? strangeRefusal(outcome, check, transaction) {
        snapshot.refusal = refusal
        snapshot.touchedMilliseconds = clock.nowMilliseconds
        try transaction.update(snapshot)
        return (nil, refusal)
      }
      return (try take(snapshot, by: Bringer(member), transaction), nil)
    }
    if let refusal { throw refused(id, refusal) }
    return try finish(grown, in: space)
  }

  /// Takes a refused snapshot all the same, durably: it is then the space's newest. For an operator
  /// who knows why it differs.
  ///
  /// - Returns: whether ``maintain(_:)`` has more to do.
  /// - Throws: ``RemoteError`` with `snapshot-unknown` where none of that name was refused; see
  ///   ``SnapshotAdmission``.
  public func acceptSnapshot(_ id: String, in space: SpaceName) throws -> Bool {
    let grown = try store.update(space) { transaction in
      let snapshot = try find(id, transaction)
      guard snapshot.refusal != nil else {
        throw RemoteError(
          .snapshotUnknown, "snapshot \(id) was not refused, so there is nothing to accept")
      }
      // Nobody knows any more whose it was.
      return try take(snapshot, by: .several, transaction)
    }
    return try finish(grown, in: space)
  }

  /// The snapshots and uploads of a space, the least position first.
  public func snapshots(of space: SpaceName) throws -> [StoredSnapshot] {
    guard try store.spaces().contains(space) else { return [] }
    return try store.update(space) {
      try checkIsThere(space, $0)
      return try $0.snapshots()
    }
  }

  private func finish(_ grown: UInt64?, in space: SpaceName) throws -> Bool {
    try CrashPoint.reach(.serverAfterSnapshot)
    if let grown { board.publish(grown, of: space) }
    return try maintain(space)
  }

  /// - Throws: ``RemoteError`` with `snapshot-unknown`.
  public func snapshotPart(_ index: Int, of id: String, in space: SpaceName) throws -> [UInt8] {
    guard let bytes = try store.snapshotPart(index, of: id, in: space, isWhole: true)
    else { throw unknown(id) }
    return bytes
  }

  // MARK: - Steps

  /// What is to be checked of an upload that is all there; `nil` for a snapshot that is whole.
  private func offerCheck(
    of id: String, in space: SpaceName, by member: MemberName?
  ) throws -> OfferCheck? {
    try store.update(space) { transaction in
      let snapshot = try find(id, transaction)
      if snapshot.isComplete { return nil }
      if let refusal = snapshot.refusal { throw refused(id, refusal) }
      let stored = try transaction.storedParts(of: id)
      guard stored.count == snapshot.parts else {
        throw RemoteError(
          .snapshotIncomplete,
          "\(snapshot.parts - stored.count) of \(snapshot.parts) parts are missing; begin again to learn "
            + "which")
      }
      let heads = try transaction.snapshotHeads(of: id)
      try checkAdmission(of: snapshot, heads, by: Bringer(member), transaction)
      return OfferCheck(
        space: space, offered: snapshot, offeredHeads: heads,
        previous: try transaction.snapshots().last(where: \.isComplete),
        heads: try transaction.heads(), end: transaction.position,
        content: contentDigest(stored))
    }
  }

  private func checkAdmission(
    of snapshot: StoredSnapshot, _ heads: [ReplicaID: SnapshotHead], by bringer: Bringer,
    _ transaction: any SpaceTransaction
  ) throws {
    let admission = SnapshotAdmission(
      cursor: snapshot.cursor, isBase: snapshot.isBase, schemaVersion: snapshot.schema?.version,
      heads: heads,
      // One that was refused is taken by an operator alone.
      isRefilled: try snapshot.refusal != nil || isRefilled(transaction),
      now: clock.nowMilliseconds)
    _ = try admission.check(transaction, epoch: store.epoch)
    if snapshot.isBase {
      try checkRoom(forBase: heads, of: bringer, admission.isRefilled, transaction)
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
    _ outcome: OfferCheck.Outcome, _ check: OfferCheck, _ transaction: any SpaceTransaction
  ) throws -> String? {
    let known = try transaction.digests(of: Array(outcome.carried.keys))
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
  private func isLookedAtAgain(_ upload: StoredSnapshot, _ transaction: any SpaceTransaction)
    throws -> Bool
  {
    guard upload.isBase, try isRefilled(transaction), let until = try transaction.deadlines.refill
    else { return false }
    return upload.touchedMilliseconds <= until - limits.refillTime.milliseconds
  }

  private func refused(_ id: String, _ reason: String) -> RemoteError {
    RemoteError(
      .snapshotRefused,
      "the snapshot was refused: \(reason). The space asks for another after a while. If this one is "
        + "right, the server's operator accepts it: 'tern snapshot accept --data FILE SPACE \(id)'")
  }

  func find(_ id: String, _ transaction: any SpaceTransaction) throws -> StoredSnapshot {
    guard let snapshot = try transaction.snapshot(id) else { throw unknown(id) }
    return snapshot
  }

  private func unknown(_ id: String) -> RemoteError {
    RemoteError(
      .snapshotUnknown,
      "the space has no such snapshot or part: it expired (uploadAge), gave way to another upload "
        + "(uploadsPerSpace), or newer ones took its place; greet again")
  }

  /// Makes a snapshot the newest. Returns the space's position where that grew by it.
  private func take(
    _ snapshot: StoredSnapshot, by bringer: Bringer, _ transaction: any SpaceTransaction
  ) throws -> UInt64? {
    let whole = try admit(snapshot, by: bringer, transaction)
    try transaction.update(whole)
    try dropOlder(than: whole, transaction)
    if Planted.isActive(.offerTrims) { try transaction.trim(through: whole.position) }
    try CrashPoint.reach(.serverBeforeSnapshot)
    return whole.isBase ? whole.position : nil
  }

  /// The snapshot as it is from now on. A base also becomes a place of the space, over which nobody
  /// pulls. What is before it goes as everything does: by ``maintain(_:)``.
  private func admit(
    _ snapshot: StoredSnapshot, by bringer: Bringer, _ transaction: any SpaceTransaction
  ) throws -> StoredSnapshot {
    let heads = try transaction.snapshotHeads(of: snapshot.id)
    try checkAdmission(of: snapshot, heads, by: bringer, transaction)
    var whole = snapshot
    (whole.isComplete, whole.refusal) = (true, nil)
    guard snapshot.isBase else { return whole }
    var authors = try transaction.heads()
    let records = try transaction.authorRecords(of: Set(heads.keys))
    for (author, head) in heads {
      let last = authors[author]?.sequence ?? 0
      guard head.sequence > last else { continue }
      var record = records[author] ?? AuthorRecord()
      record.noteBrought(last + 1...head.sequence, by: bringer)
      if record != records[author] { try transaction.set(record, of: author) }
      authors[author] = AuthorHead(sequence: head.sequence, time: head.time, continues: false)
    }
    let chain = try transaction.appendBase(OperationDigest(base: snapshot.id), heads: authors)
    whole.position = transaction.position + 1
    whole.cursor = SpaceCursor(epoch: store.epoch, position: whole.position, chain: chain).cursor
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
      guard other.isComplete || other.position <= newest.position else { continue }
      try transaction.drop(other.id, keptFrom: other.isComplete ? clock.nowMilliseconds : nil)
    }
  }

  private func makeRoomForUpload(_ transaction: any SpaceTransaction) throws {
    var uploads = try transaction.snapshots().filter { !$0.isComplete }
      .sorted { ($0.touchedMilliseconds, $0.id) < ($1.touchedMilliseconds, $1.id) }
    while uploads.count >= limits.uploadsPerSpace, !uploads.isEmpty {
      try transaction.drop(uploads.removeFirst().id, keptFrom: nil)
    }
  }
}
#endif
