#if Server
@_spi(Rehearsal) import TernCore

extension SpaceService {
  /// Begins an upload, or goes on with the one of an equal offer.
  ///
  /// - Throws: ``RemoteError``, see ``SnapshotAdmission``, and `too-many-spaces`.
  /// - Parameter member: who offers it; `nil` for somebody whom no token names.
  public func beginSnapshot(
    _ offer: SnapshotOffer, in space: SpaceName, by member: MemberName? = nil
  ) throws -> SnapshotUpload {
    try SnapshotAdmission.checkShape(offer, limits)
    try reserve.check()
    return try access.update(space) { space in
      let (rows, intake) = (space.rows, space.intake)
      let beginning = SpaceCursor(epoch: space.epoch, position: 0, chain: nil).cursor
      let admission = SnapshotAdmission(
        cursor: offer.cursor ?? beginning, isBase: offer.isBase,
        schemaVersion: offer.schema?.version, heads: offer.heads,
        isRefilled: try space.isRefilled, now: clock.now)
      let id = offer.id(at: admission.cursor)
      try space.ensureRoom()
      try space.ensureTakes()
      try space.upkeep.dropOldUploads()
      let known = try rows.snapshot(id)
      if known?.isComplete ?? false { return SnapshotUpload(id: id, missing: []) }
      if let known, let refusal = known.refusal, try !intake.isLookedAtAgain(known) {
        throw RemoteError.refused(id, refusal)
      }
      let position = try admission.check(rows, epoch: space.epoch)
      if offer.isBase {
        try space.room.check(forBase: offer.heads, of: Bringer(member), admission.isRefilled)
      }
      if var known {
        (known.touched, known.refusal) = (clock.now, nil)
        try rows.update(known)
      } else {
        try intake.makeRoomForUpload()
        let snapshot = StoredSnapshot(
          id: id, cursor: admission.cursor, position: position, isBase: offer.isBase,
          schema: offer.schema, parts: offer.parts, touched: clock.now)
        try rows.add(snapshot, heads: offer.heads)
      }
      let stored = try rows.storedParts(of: id)
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
    try reserve.check(adding: bytes.count)
    try access.update(space) { space in
      let rows = space.rows
      try space.ensureTakes()
      var snapshot = try space.intake.find(id)
      guard (0..<snapshot.parts).contains(index) else {
        throw RemoteError(
          .malformed, "the snapshot was offered with \(snapshot.parts) parts, numbered from 0")
      }
      if let stored = try rows.partDigest(index, of: id) {
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
      try space.quotas.check(part: bytes.count, of: snapshot)
      try rows.addPart(bytes, digest: digest, index: index, of: id)
      snapshot.bytes += bytes.count
      snapshot.touched = clock.now
      try rows.update(snapshot)
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
    let check = try access.update(space) { space in
      try space.ensureTakes()
      return try space.intake.offerCheck(of: id, by: member)
    }
    guard let check else { return try maintain(space) }
    let outcome = Planted.isActive(.offerUnchecked) ? .init() : try check.run(in: store)
    let (grown, refusal) = try access.update(space) { space in
      // It may have been suspended meanwhile.
      try space.ensureTakes()
      return try space.intake.settle(check, outcome, by: Bringer(member))
    }
    if let refusal { throw RemoteError.refused(id, refusal) }
    return try finish(grown, in: space)
  }

  /// Takes a refused snapshot all the same, durably: it is then the space's newest. For an operator
  /// who knows why it differs.
  ///
  /// - Returns: whether ``maintain(_:)`` has more to do.
  /// - Throws: ``RemoteError`` with `snapshot-unknown` where none of that name was refused; see
  ///   ``SnapshotAdmission``.
  public func acceptSnapshot(_ id: String, in space: SpaceName) throws -> Bool {
    let grown = try access.update(space) { space in
      let snapshot = try space.intake.find(id)
      guard snapshot.refusal != nil else {
        throw RemoteError(
          .snapshotUnknown, "snapshot \(id) was not refused, so there is nothing to accept")
      }
      // Nobody knows any more whose it was.
      let head = try space.intake.take(snapshot, by: .several)
      try space.record(.acceptSnapshot, ["snapshot": id])
      return head
    }
    return try finish(grown, in: space)
  }

  /// The snapshots and uploads of a space, the least position first.
  public func snapshots(of space: SpaceName) throws -> [StoredSnapshot] {
    guard try store.spaces().contains(space) else { return [] }
    return try access.look(at: space) {
      try $0.ensureIsThere()
      return try $0.rows.snapshots()
    }
  }

  private func finish(_ grown: SpaceHead?, in space: SpaceName) throws -> Bool {
    try CrashPoint.reach(.serverAfterSnapshot)
    if let grown { tell(grown, of: space) }
    return try maintain(space)
  }

  /// - Throws: ``RemoteError`` with `snapshot-unknown`.
  public func snapshotPart(_ index: Int, of id: String, in space: SpaceName) throws -> [UInt8] {
    guard let bytes = try store.snapshotPart(index, of: id, in: space, isWhole: true)
    else { throw RemoteError.unknownSnapshot() }
    return bytes
  }
}
#endif
