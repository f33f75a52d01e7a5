#if Server
import TernCore

extension SpaceService {
  /// Up to where a replica has merged everything, and since when, written down or not.
  package func lease(of replica: ReplicaID, in space: SpaceName) throws -> Lease? {
    try leases[space, replica] ?? store.lease(of: replica, in: space)
  }

  /// Notes that a replica has merged everything up to `position`; what is returned has to be
  /// written down before the replica is answered.
  func renew(
    _ replica: ReplicaID, at position: UInt64, in space: SpaceName, by member: MemberName?
  ) throws -> LeaseRenewal? {
    let written = try store.lease(of: replica, in: space)
    let known = [written, leases[space, replica]].compactMap(\.self)
    // Back behind what may be written at any moment: the device's database was put back.
    let isForward = known.allSatisfy { position >= $0.position }
    // Not back to the time of a clock that may be behind.
    let time = known.reduce(clock.nowMilliseconds) { max($0, $1.milliseconds) }
    let renewal = LeaseRenewal(
      replica: replica, space: space, lease: Lease(position: position, milliseconds: time),
      canWait: written != nil && isForward, member: member)
    guard let written, isForward,
      renewal.lease.milliseconds - written.milliseconds < LeaseBook.lateness.milliseconds,
      leases.note(renewal)
    else { return renewal }
    return nil
  }

  /// Writes a renewal down before its page is given out.
  ///
  /// Returns what the store threw, where that is no reason to keep the page back: a full disk must
  /// not end reading too. The renewal is noted then, for when the disk has room.
  func settle(_ renewal: LeaseRenewal) throws -> (any Error)? {
    do {
      if try shortage() != nil, renewal.canWait {
        _ = leases.note(renewal)
        return nil
      }
      try checkDisk(adding: 0)
      try write(renewal)
      return nil
    } catch let error as RemoteError {
      throw error
    } catch {
      guard renewal.canWait else { throw error }
      _ = leases.note(renewal)
      return error
    }
  }

  /// One from beyond the space is of another, which was removed meanwhile and made anew: it is
  /// forgotten, as it would not hold the horizon back for a replica that has nothing of this one.
  /// So is one of an id that was banned or claimed since its page was read.
  ///
  /// - Throws: ``RemoteError`` with `too-many-replicas`.
  func write(_ renewal: LeaseRenewal) throws {
    let space = renewal.space
    try store.update(space) { transaction in
      try checkRoom(transaction)
      guard renewal.lease.position <= transaction.position else { return }
      let record = try transaction.authorRecords(of: [renewal.replica])[renewal.replica]
      guard AuthorRecord.canRead(record, by: renewal.member) else { return }
      try checkLeases(renewal, transaction)
      // Under the space's lock, so that no older note is written over it.
      if let noted = leases[space, renewal.replica] {
        leases.remove([renewal.replica: noted], in: space)
      }
      try transaction.set(renewal.lease, of: renewal.replica)
    }
  }

  /// Members make up few ids, and those whom no token names leave them half of the leases.
  private func checkLeases(_ renewal: LeaseRenewal, _ transaction: any SpaceTransaction) throws {
    let known = try transaction.leases()
    guard known[renewal.replica] == nil else { return }
    let most = limits.leasesPerSpace
    guard known.count < most else {
      throw RemoteError(
        .tooManyReplicas,
        "leasesPerSpace: \(known.count) replicas read the space, which takes \(most); new ones need "
          + "another space", replica: renewal.replica)
    }
    // With fewer, nobody can have more than half.
    guard renewal.member == nil, known.count >= most / 2 else { return }
    let records = try transaction.authorRecords(of: Set(known.keys))
    let unclaimed = known.keys.count { records[$0]?.member == nil }
    let share = max(1, (most - known.count + unclaimed) / 2)
    guard unclaimed >= share else { return }
    throw RemoteError(
      .tooManyReplicas,
      "leasesPerSpace: \(unclaimed) replicas read the space with tokens that name no member, which "
        + "may be \(share); an operator makes a token with 'tern token create --member'",
      replica: renewal.replica)
  }

  /// Writes down what was noted, as ``write(_:)`` does, and removes what has run out. Returns what
  /// is alive: the least position is the horizon.
  func settleLeases(
    _ noted: [ReplicaID: Lease], in transaction: any SpaceTransaction
  ) throws -> [Lease] {
    let records = try transaction.authorRecords(of: Set(noted.keys))
    for (replica, lease) in noted.sorted(by: { $0.key < $1.key })
    where lease.position <= transaction.position && records[replica]?.bannedAfter == nil {
      try transaction.set(lease, of: replica)
    }
    let age = (limits.lease + LeaseBook.lateness).milliseconds
    let (now, isSteady) = (clock.nowMilliseconds, clockWatch.isSteady(clock))
    var alive: [Lease] = []
    for (replica, var lease) in try transaction.leases().sorted(by: { $0.key < $1.key }) {
      guard lease.milliseconds >= now - age else {
        try transaction.set(nil, of: replica)
        continue
      }
      if isSteady, clock.isAhead(lease.milliseconds) {
        lease.milliseconds = now
        try transaction.set(lease, of: replica)
      }
      alive.append(lease)
    }
    return alive
  }
}
#endif
