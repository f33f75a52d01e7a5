#if Server
import TernCore

/// Whose leases a space takes, and for how long.
struct LeaseRules {
  let space: LockedSpace
  private var rows: any SpaceTransaction { space.rows }
  private var limits: ServerLimits { space.limits }
  private var clock: ServerClock { space.clock }

  /// One from beyond the space is of another, which was removed meanwhile and made anew: it is
  /// forgotten, as it would not hold the horizon back for a replica that has nothing of this one.
  /// So is one of an id that was banned or claimed since its page was read.
  ///
  /// - Parameter book: what waits to be written down.
  /// - Throws: ``RemoteError`` with `too-many-replicas`.
  func write(_ renewal: LeaseRenewal, _ book: LeaseBook) throws {
    guard renewal.lease.position <= rows.position,
      AuthorRecord.canRead(try space.record(of: renewal.replica), by: renewal.member)
    else { return }
    try check(renewal)
    // Under the space's lock, so that no older note is written over it.
    if let noted = book[space.name, renewal.replica] {
      book.remove([renewal.replica: noted], in: space.name)
    }
    try rows.set(renewal.lease, of: renewal.replica)
  }

  /// Members make up few ids, and those whom no token names leave them half of the leases.
  private func check(_ renewal: LeaseRenewal) throws {
    let known = try rows.leases()
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
    let records = try rows.authorRecords(of: Set(known.keys))
    let unclaimed = known.keys.count { records[$0]?.member == nil }
    let share = max(1, (most - known.count + unclaimed) / 2)
    guard unclaimed >= share else { return }
    throw RemoteError(
      .tooManyReplicas,
      "leasesPerSpace: \(unclaimed) replicas read the space with tokens that name no member, which "
        + "may be \(share); an operator makes a token with 'tern token create --member'",
      replica: renewal.replica)
  }

  /// Writes down what was noted, as ``write(_:_:)`` does, and removes what has run out. Returns
  /// what is alive: the least position is the horizon.
  func settle(_ noted: [ReplicaID: Lease]) throws -> [Lease] {
    let records = try rows.authorRecords(of: Set(noted.keys))
    let known = noted.isEmpty ? [:] : try rows.leases()
    for (replica, lease) in noted.sorted(by: { $0.key < $1.key })
    where lease.position <= rows.position && records[replica]?.bannedAfter == nil {
      // Only of one that is written down is a later one noted: an operator has dropped it since.
      // Another process may have written a newer one.
      guard let written = known[replica], written.renewed <= lease.renewed else { continue }
      try rows.set(lease, of: replica)
    }
    let age = (limits.lease + LeaseBook.lateness).milliseconds
    let isSteady = space.isSteady
    var alive: [Lease] = []
    for (replica, var lease) in try rows.leases().sorted(by: { $0.key < $1.key }) {
      guard clock.age(of: lease.renewed) <= age else {
        try rows.set(nil, of: replica)
        continue
      }
      if isSteady, clock.isAhead(lease.renewed) {
        lease.renewed = clock.now
        try rows.set(lease, of: replica)
      }
      alive.append(lease)
    }
    return alive
  }
}
#endif
