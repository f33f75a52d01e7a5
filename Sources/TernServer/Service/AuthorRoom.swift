#if Server
import TernCore

/// How many replica ids a space takes, and a member brings.
struct AuthorRoom {
  let space: LockedSpace
  private var rows: any SpaceTransaction { space.rows }
  private var limits: ServerLimits { space.limits }

  /// An id costs nothing to make up, and each that wrote stays for ever.
  ///
  /// - Parameters:
  ///   - new: who has not written yet.
  ///   - records: theirs, where they have some. An id that is claimed is in a member's number
  ///     already.
  /// - Throws: ``RemoteError`` with `too-many-replicas`.
  func check(
    for new: Set<ReplicaID>, _ records: [ReplicaID: AuthorRecord], of member: MemberName?
  ) throws {
    try checkNumber(of: new)
    let unclaimed = new.filter { records[$0]?.member == nil }
    guard let first = unclaimed.min(),
      try left(for: member, isNew: true) < unclaimed.count
    else { return }
    throw RemoteError(
      .tooManyReplicas,
      "authorsPerMember: whoever pushes has brought as many replica ids into the space as one "
        + "member may; an operator allows more with 'tern space quota --authors'", replica: first)
  }

  /// A base asks for the same room as pushes, unless an operator opened the space for it.
  ///
  /// - Throws: ``RemoteError`` with `too-many-replicas` or `refill-needed`.
  func check(
    forBase heads: [ReplicaID: SnapshotHead], of bringer: Bringer, _ isRefilled: Bool
  ) throws {
    let known = try rows.heads()
    let new = Set(heads.keys.filter { known[$0] == nil })
    try checkNumber(of: new)
    if isRefilled { return }
    let member: MemberName? = if case .member(let name) = bringer { name } else { nil }
    let records = try rows.authorRecords(of: new)
    let unclaimed = new.filter { records[$0]?.member == nil }
    guard let first = unclaimed.min(),
      try left(for: member, isNew: true) < unclaimed.count
    else { return }
    throw RemoteError(
      .refillNeeded,
      "authorsPerMember: the base brings \(unclaimed.count) new replica ids, more than one member may; "
        + "after a loss the server's operator opens the space for it: 'tern space refill --data "
        + "FILE SPACE'", replica: first, now: space.clock.now)
  }

  /// Those that are banned count only in what a snapshot can name.
  private func checkNumber(of new: Set<ReplicaID>) throws {
    guard let first = new.min() else { return }
    let (known, heads) = (try rows.authorCount, try rows.headCount)
    let isTooMany = heads + new.count > limits.headsPerSpace
    guard isTooMany || known + new.count > limits.replicasPerSpace else { return }
    throw RemoteError(
      .tooManyReplicas,
      isTooMany
        ? "replicasPerSpace: \(heads) replicas have written into the space, banned ones too, and a "
          + "snapshot names \(limits.headsPerSpace); new ones need another space"
        : "replicasPerSpace: \(known) replicas have written into the space, which takes "
          + "\(limits.replicasPerSpace); new ones need another space", replica: first)
  }

  /// How many more ids a member may have. At most half of what it and others could still have is
  /// one member's, so that it leaves room for others, unless an operator gave it a number.
  func left(for member: MemberName?, isNew: Bool) throws -> Int {
    // A wiped space is filled again by few, who bring what others wrote.
    if try space.isRefilled { return limits.replicasPerSpace }
    let own = try rows.authorCount(of: member)
    let quota = try rows.usage.quota.authors
    let left = limits.replicasPerSpace - (isNew ? try rows.authorCount : 0)
    let share = max(1, (left + own) / 2)
    return (quota ?? min(limits.authorsPerMember, share)) - own
  }
}
#endif
