@_spi(Rehearsal) import TernCore
import TernDatabase

/// Brings snapshots from a remote into a store and back.
struct SnapshotExchange {
  let store: any ReplicaStore
  let remote: any Remote
  /// Where parts that were fetched wait until all are there; `nil` for a file without a name, with
  /// which a fetch that is cut short begins anew.
  let path: String?
  /// What all parts of one that is fetched may have.
  var maximumBytes = SnapshotPart.Limit.snapshotBytes
  /// The snapshot that the app takes although it takes something away.
  var acceptedID: String?
  /// Throws where the disk has no room for so many bytes more.
  var checkRoom: @Sendable (Int) throws -> Void = { _ in }

  // MARK: - From the remote

  /// Fetches what is not here yet, and puts the snapshot in the place of the state; or, where that
  /// has all of it, only moves the cursor.
  ///
  /// - Parameters:
  ///   - nowMilliseconds: see ``SnapshotOrigin``.
  ///   - bans: see ``SnapshotOrigin``.
  ///   - isRepairing: whether it takes the place of a state that has all of it, too.
  /// - Throws: what fetching throws, ``WireError`` for a part that is none and for more than the
  ///   limits, and what ``ReplicaStore/loadSnapshot(from:_:)`` throws. Parts that are as they
  ///   were made stay in the file, whatever keeps them from being loaded.
  func load(
    _ snapshot: RemoteSnapshot, epoch: String, nowMilliseconds: Int64,
    bans: [ReplicaID: UInt64] = [:], isRepairing: Bool
  ) async throws {
    let place = RemotePlace(remoteID: remote.id, epoch: epoch, cursor: snapshot.cursor)
    let stored = try store.storedVersionVector()
    if !isRepairing, !snapshot.heads.sequences.isEmpty, stored.covers(snapshot.heads) {
      // Of a fetch that was cut short, before all came by another way.
      if let path { PartFile.remove(path) }
      return try store.resetPlace(place)
    }
    guard snapshot.parts <= SnapshotPart.Limit.parts else {
      throw WireError(.tooLarge, "snapshot")
    }
    let file = try path.map { try PartFile($0, key: snapshot.id) } ?? PartFile()
    let hadParts = file.count > 0
    while file.count < snapshot.parts {
      let part = try await remote.snapshotPart(file.count, of: snapshot.id)
      // Before the next is asked for: whoever sends no parts could send for ever.
      _ = try SnapshotPart.content(of: part)
      guard part.count <= maximumBytes - file.byteCount else {
        file.remove()
        throw WireError(.tooLarge, "snapshot")
      }
      // Those before it stay: with room, the next fetch goes on from here.
      try checkRoom(part.count)
      try file.append(part)
      try CrashPoint.reach(.snapshotPartStored)
    }
    var origin = SnapshotOrigin(place: place)
    (origin.heads, origin.nowMilliseconds) = (snapshot.heads, nowMilliseconds)
    origin.bans = bans
    origin.isAccepted = snapshot.id == acceptedID
    do {
      _ = try store.loadSnapshot(from: origin, isRepairing: isRepairing) {
        // What it unpacks to is known only then.
        try checkRoom(0)
        return try file.part($0)
      }
    } catch {
      guard Self.isDamage(error) else { throw error }
      file.remove()
      // Losing power may have damaged what was in the file before.
      guard hadParts else { throw error }
      return try await load(
        snapshot, epoch: epoch, nowMilliseconds: nowMilliseconds, bans: bans,
        isRepairing: isRepairing)
    }
    file.remove()
  }

  /// Whether a snapshot is not as it was cut.
  private static func isDamage(_ error: any Error) -> Bool {
    error is WireError || (error as? SnapshotError)?.code == .incomplete
  }

  /// Whether it is the snapshot that can't be loaded.
  static func isUnloadable(_ error: any Error) -> Bool {
    error is WireError || error is SnapshotError || error is MergeError
  }

  /// Whether loading the same snapshot again would throw the same again: clocks go on.
  static func isLasting(_ error: any Error) -> Bool {
    isUnloadable(error) && (error as? SnapshotError)?.code != .timeAhead
  }

  // MARK: - To the remote

  /// Cuts a snapshot and uploads it, unless the remote lacks operations that it holds: then those
  /// have to be pushed first.
  ///
  /// - Parameters:
  ///   - heads: what the remote holds.
  ///   - isBase: see ``SnapshotOffer``.
  func cut(heads: VersionVector, isBase: Bool) async throws {
    // Whatever is in the cut, everything before the cursor is.
    let cursor = try store.place(at: remote.id)?.cursor
    let file = try PartFile()
    var checksum = Checksum()
    let summary = try store.cutSnapshot { part in
      checksum.add(part)
      try file.append(part)
    }
    // Of a group that is not whole, the remote has to have what is carried along too.
    let hasAll = summary.beginnings.allSatisfy { heads[$0.key] >= $0.value.sequence }
    guard isBase || heads.covers(summary.versionVector) && hasAll else { return }
    // One device cuts the same bytes again while nothing changes, so an upload can go on.
    let key = "\(try store.replicaID())-\(checksum.value)-\(summary.parts)"
    let upload = try await remote.beginSnapshot(
      SnapshotOffer(
        key: key, parts: summary.parts, cursor: cursor, heads: summary.heads(at: heads),
        isBase: isBase, schema: summary.schema))
    for index in upload.missing {
      guard let part = try file.part(index) else {
        throw RemoteError(.unexpectedAnswer, "the remote asks for a part that is none")
      }
      try await remote.putSnapshotPart(part, index: index, of: upload.id)
    }
    try await remote.completeSnapshot(upload.id)
  }
}
