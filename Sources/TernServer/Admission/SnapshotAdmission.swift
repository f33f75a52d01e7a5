#if Server
import Foundation
@_spi(Rehearsal) import TernCore

/// Decides whether a snapshot that is offered can stand for the operations up to its cursor.
///
/// Asked when an upload begins, so that nobody uploads in vain, and again when it is complete.
struct SnapshotAdmission {
  let cursor: RemoteCursor
  let isBase: Bool
  /// Of the app that cut it.
  let schemaVersion: UInt32?
  /// Of every replica, the last operation in the snapshot.
  let heads: [ReplicaID: SnapshotHead]
  /// Whether an operator asks for a base, whatever the space has.
  var isRefilled = false
  /// The server's clock.
  let now: Date

  /// What is refused whatever the space holds.
  ///
  /// - Throws: ``RemoteError`` with `malformed`, `too-large` or `too-many-replicas`.
  static func checkShape(_ offer: SnapshotOffer, _ limits: ServerLimits) throws(RemoteError) {
    guard (1...64).contains(offer.key.utf8.count), offer.key.utf8.allSatisfy(isAllowed),
      offer.parts > 0,
      offer.heads.values.allSatisfy({
        (1...VersionVector.maximumSequence).contains($0.sequence) && $0.time > .zero
          && $0.time.milliseconds <= HybridTime.maximumMilliseconds
      })
    else {
      throw RemoteError(
        .malformed,
        "a snapshot has a key of 1 to 64 letters, digits, '-' and '_', at least one part, and "
          + "heads with a sequence and a time")
    }
    guard offer.parts <= limits.snapshotParts else {
      throw RemoteError(
        .tooLarge,
        "snapshotParts: a snapshot has at most \(limits.snapshotParts) parts; make them longer")
    }
    // More than `replicasPerSpace`, as banned ones are in it too. What is new in it counts.
    guard offer.heads.count <= limits.headsPerSpace else {
      throw RemoteError(
        .tooManyReplicas,
        "replicasPerSpace: a snapshot names at most \(limits.headsPerSpace) replicas, and this one "
          + "\(offer.heads.count)")
    }
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }

  /// Returns the cursor's position.
  ///
  /// - Throws: ``RemoteError`` with `cursor-unknown`, `snapshot-superseded`, `snapshot-incomplete`,
  ///   `snapshot-conflict`, `sequence-gap`, and for a base `refill-needed` and what refuses
  ///   operations.
  func check(_ space: any SpaceTransaction, epoch: String) throws -> UInt64 {
    guard let place = SpaceCursor(cursor),
      place
        == SpaceCursor(
          epoch: epoch, position: place.position, chain: try space.chain(at: place.position)),
      place.position <= space.position
    else {
      throw RemoteError(
        .cursorUnknown,
        "the snapshot's cursor is not of this server's history, which was wiped or restored; "
          + "greet again", now: now)
    }
    try checkIsNewer(place.position, space)
    let stored = try space.heads()
    for (author, head) in stored.sorted(by: { $0.key < $1.key }) {
      try check(author, head, upTo: place.position, space)
    }
    let ahead = heads.filter { $0.value.sequence > stored[$0.key]?.sequence ?? 0 }
    if isBase {
      try checkBase(ahead, stored)
      try checkBans(ahead, space)
      if !isRefilled { try checkIsWiped(space, ahead, stored) }
    } else if let (author, head) = ahead.min(by: { $0.key < $1.key }) {
      throw RemoteError(
        .sequenceGap,
        "the snapshot has operation \(head.sequence) of replica \(author), which was not pushed; "
          + "push first", replica: author, sequence: head.sequence, now: now)
    }
    return place.position
  }

  private func checkIsNewer(_ position: UInt64, _ space: any SpaceTransaction) throws {
    let last = try space.snapshots().last(where: \.isComplete)
    if let known = last?.schema?.version, schemaVersion ?? 0 < known {
      throw RemoteError(
        .snapshotSuperseded,
        "the space has a snapshot of schema version \(known), and this one is older: it would lack "
          + "what that app did not know; update the app")
    }
    let newest = last?.position ?? 0
    guard isBase ? position == space.position : position > newest else {
      throw RemoteError(
        .snapshotSuperseded,
        isBase
          ? "the space is at \(space.position), and the base stands for what was before "
            + "\(position); pull, and offer another one"
          : "the space has a snapshot up to \(newest), and this one is up to \(position)")
    }
  }

  /// The author's next operation after the snapshot's last must come after the cursor.
  private func check(
    _ author: ReplicaID, _ stored: AuthorHead, upTo position: UInt64, _ space: any SpaceTransaction
  ) throws {
    let offered = heads[author]
    if let offered, offered.sequence == stored.sequence, offered.time != stored.time {
      throw RemoteError(
        .snapshotConflict,
        "the snapshot has another operation \(offered.sequence) of replica \(author) than the "
          + "space; greet again", replica: author, sequence: offered.sequence)
    }
    let next = (offered?.sequence ?? 0) + 1
    guard next <= stored.sequence else { return }
    // One that is nowhere is in the base.
    let place = try space.position(of: OperationKey(author: author, sequence: next))
    guard !isBase, let place, place > position else {
      throw RemoteError(
        .snapshotIncomplete,
        "the snapshot lacks operation \(next) of replica \(author), which the space has; cut it "
          + "where everything up to its cursor is merged", replica: author, sequence: next)
    }
  }

  /// A base brings writes without their operations, which nobody can look at or take back. So it is
  /// taken unasked only where the space shows that it lost everything: nothing stands for what was
  /// before, and no author of whom the base has more has pushed anything here. Whoever has pushed
  /// here goes on pushing, and where this space lost that, an operator put a backup back.
  private func checkIsWiped(
    _ space: any SpaceTransaction, _ ahead: [ReplicaID: SnapshotHead],
    _ stored: [ReplicaID: AuthorHead]
  ) throws {
    if Planted.isActive(.baseUnasked) { return }
    let known = ahead.keys.filter { stored[$0] != nil }.min()
    let isBegun = try space.trimmed > 0 || space.snapshots().contains(where: \.isComplete)
    guard isBegun || known != nil else { return }
    let what =
      isBegun
      ? "the space has a snapshot or trimmed operations"
      : "the space has operations of replica \(known.map(\.description) ?? "")"
    throw RemoteError(
      .refillNeeded,
      "\(what), and lacks operations that no log has any more; after a loss the server's operator "
        + "opens it for a base: 'tern space refill --data FILE SPACE'",
      replica: isBegun ? nil : known, now: now)
  }

  /// INV-13: nothing that follows a ban comes by a base either.
  private func checkBans(
    _ ahead: [ReplicaID: SnapshotHead], _ space: any SpaceTransaction
  ) throws {
    let records = try space.authorRecords(of: Set(ahead.keys))
    let banned = records.filter { $0.value.bannedAfter != nil }
    guard let (author, record) = banned.min(by: { $0.key < $1.key }) else { return }
    throw RemoteError(
      .authorBanned,
      "the space takes no operation of replica \(author) after \(record.bannedAfter ?? 0), which the "
        + "snapshot has: its operator banned it", replica: author,
      sequence: ahead[author]?.sequence, now: now)
  }

  /// What a base brings in must be what an operation could have brought.
  private func checkBase(
    _ ahead: [ReplicaID: SnapshotHead], _ stored: [ReplicaID: AuthorHead]
  ) throws(RemoteError) {
    guard !ahead.isEmpty else {
      throw RemoteError(
        .snapshotSuperseded, "the space has every operation that the base stands for; greet again")
    }
    let limit = Admission.limitMilliseconds(
      now: now, newest: stored.values.map(\.time).max() ?? .zero)
    for (author, head) in ahead.sorted(by: { $0.key < $1.key }) {
      guard !author.isReserved else {
        throw RemoteError(
          .malformed, "no device has the replica id \(author), which the snapshot names",
          replica: author)
      }
      guard head.time.milliseconds <= limit else {
        throw RemoteError(
          .timeAhead,
          "the last time of replica \(author) in the snapshot is more than five minutes ahead of "
            + "the server's clock; offer it again later", replica: author, sequence: head.sequence,
          now: now)
      }
      guard head.time >= stored[author]?.time ?? .zero else {
        throw RemoteError(
          .timeNotIncreasing,
          "the last time of replica \(author) in the snapshot is before one that the space has",
          replica: author, sequence: head.sequence, now: now)
      }
    }
  }
}

extension SnapshotOffer {
  /// 32 hexadecimal digits, of everything in the offer: equal offers are one upload, and a
  /// restored server gives no id to other bytes.
  ///
  /// - Parameter cursor: the offer's, or that of the beginning.
  func id(at cursor: RemoteCursor) -> String {
    var text = "\(key)\n\(parts)\n\(cursor.rawValue)\n\(isBase)\n"
    for (replica, head) in heads.sorted(by: { $0.key < $1.key }) {
      text += "\(replica) \(head.sequence) \(head.time.rawValue)\n"
    }
    if let schema { text += schema.stored }
    return sha256(Array(text.utf8)).prefix(16).hexadecimal
  }
}
#endif
