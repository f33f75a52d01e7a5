#if Server
@_spi(Rehearsal) import TernCore

/// Replica ids belong to members (INV-13): who greets first under an id claims it.
extension SpaceService {
  /// Whether greeting under an id claims it.
  func canClaim(_ replica: ReplicaID, _ member: MemberName?, in space: SpaceName) throws -> Bool {
    guard member != nil else { return false }
    guard let record = try store.authorRecord(of: replica, in: space) else { return true }
    return record.member == nil && record.bannedAfter == nil
  }

  /// Claims an id for a member, durably. Does nothing for an id that is claimed or banned, and
  /// where the member or the space has as many as it may: then the id stays unclaimed.
  public func claim(_ replica: ReplicaID, by member: MemberName, in space: SpaceName) throws {
    try checkDisk(adding: 0)
    try store.update(space) { transaction in
      try checkRoom(transaction)
      var record = try transaction.authorRecords(of: [replica])[replica] ?? AuthorRecord()
      guard record.member == nil, record.bannedAfter == nil else { return }
      let isNew = try transaction.heads(of: [replica]).isEmpty
      guard try room(for: member, isNew: isNew, transaction) > 0 else { return }
      record.member = member
      try transaction.set(record, of: replica)
    }
  }

  /// An id costs nothing to make up, and each that wrote stays for ever.
  ///
  /// - Parameters:
  ///   - new: who has not written yet.
  ///   - records: theirs, where they have some. An id that is claimed is in a member's number
  ///     already.
  /// - Throws: ``RemoteError`` with `too-many-replicas`.
  func checkRoom(
    for new: Set<ReplicaID>, _ records: [ReplicaID: AuthorRecord], of member: MemberName?,
    _ transaction: any SpaceTransaction
  ) throws {
    try checkRoom(for: new, transaction)
    let unclaimed = new.filter { records[$0]?.member == nil }
    guard let first = unclaimed.min(),
      try room(for: member, isNew: true, transaction) < unclaimed.count
    else { return }
    throw RemoteError(
      .tooManyReplicas,
      "authorsPerMember: whoever pushes has brought as many replica ids into the space as one "
        + "member may; an operator allows more with 'tern space quota --authors'", replica: first)
  }

  /// A base asks for the same room as pushes, unless an operator opened the space for it.
  ///
  /// - Throws: ``RemoteError`` with `too-many-replicas` or `refill-needed`.
  func checkRoom(
    forBase heads: [ReplicaID: SnapshotHead], of bringer: Bringer, _ isRefilled: Bool,
    _ transaction: any SpaceTransaction
  ) throws {
    let known = try transaction.heads()
    let new = Set(heads.keys.filter { known[$0] == nil })
    try checkRoom(for: new, transaction)
    if isRefilled { return }
    let member: MemberName? = if case .member(let name) = bringer { name } else { nil }
    let records = try transaction.authorRecords(of: new)
    let unclaimed = new.filter { records[$0]?.member == nil }
    guard let first = unclaimed.min(),
      try room(for: member, isNew: true, transaction) < unclaimed.count
    else { return }
    throw RemoteError(
      .refillNeeded,
      "authorsPerMember: the base brings \(unclaimed.count) new replica ids, more than one member may; "
        + "after a loss the server's operator opens the space for it: 'tern space refill --data "
        + "FILE SPACE'", replica: first, nowMilliseconds: clock.nowMilliseconds)
  }

  /// Those that are banned count only in what a snapshot can name.
  private func checkRoom(for new: Set<ReplicaID>, _ transaction: any SpaceTransaction) throws {
    guard let first = new.min() else { return }
    let (known, heads) = (try transaction.authorCount, try transaction.headCount)
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
  private func room(
    for member: MemberName?, isNew: Bool, _ transaction: any SpaceTransaction
  ) throws -> Int {
    // A wiped space is filled again by few, who bring what others wrote.
    if try isRefilled(transaction) { return limits.replicasPerSpace }
    let own = try transaction.authorCount(of: member)
    let quota = try transaction.usage.quota.authors
    let left = limits.replicasPerSpace - (isNew ? try transaction.authorCount : 0)
    let share = max(1, (left + own) / 2)
    return (quota ?? min(limits.authorsPerMember, share)) - own
  }

  // MARK: - The operator's

  /// What a space knows of its replica ids: those that wrote, that are claimed, or that read.
  public func authors(of space: SpaceName) throws -> [ReplicaID: SpaceAuthor] {
    guard try store.spaces().contains(space) else { return [:] }
    let heads = try store.summary(of: space).heads
    var authors = try store.authorRecords(of: space).mapValues { SpaceAuthor(record: $0) }
    for (replica, sequence) in heads.sequences {
      authors[replica, default: SpaceAuthor()].sequence = sequence
    }
    let leases = try store.update(space) {
      try checkIsThere(space, $0)
      return try $0.leases()
    }
    for (replica, lease) in leases {
      authors[replica, default: SpaceAuthor()].lease = lease.position
    }
    return authors
  }

  /// Bans an author: nothing that it writes after what the space has now is taken any more, from
  /// anybody. What the space has stays, and is served and referred to as before.
  ///
  /// - Returns: the last sequence number that the space takes; 0 for an id that wrote nothing.
  @discardableResult
  public func ban(_ replica: ReplicaID, in space: SpaceName) throws -> UInt64 {
    try store.update(space) { transaction in
      try checkRoom(transaction)
      // It holds back nobody.
      try transaction.set(nil as Lease?, of: replica)
      var record = try transaction.authorRecords(of: [replica])[replica] ?? AuthorRecord()
      if let last = record.bannedAfter { return last }
      let head = try transaction.heads(of: [replica])[replica]?.sequence ?? 0
      (record.bannedAfter, record.admitted) = (head, nil)
      try transaction.set(record, of: replica)
      return head
    }
  }

  /// Takes a ban back.
  ///
  /// - Returns: whether the space knows the author.
  @discardableResult
  public func unban(_ replica: ReplicaID, in space: SpaceName) throws -> Bool {
    // What was admitted before is not in force again by this.
    try change(replica, in: space) { ($0.bannedAfter, $0.admitted) = (nil, nil) }
  }

  /// Lets others bring a claimed author's operations up to a sequence number, because its member
  /// has lost its tokens or its device.
  ///
  /// - Returns: whether the space knows the author.
  /// - Throws: ``RemoteError`` with `author-banned`.
  @discardableResult
  public func admit(_ replica: ReplicaID, through sequence: UInt64, in space: SpaceName) throws
    -> Bool
  {
    try change(replica, in: space) { record in
      if let last = record.bannedAfter {
        throw RemoteError(
          .authorBanned,
          "replica \(replica) is banned after operation \(last), so that nothing of it can be "
            + "admitted; run 'tern replica unban' first", replica: replica)
      }
      record.admitted = sequence
    }
  }

  /// Gives an id to a member, whoever had claimed it; `nil` gives it to nobody.
  ///
  /// - Returns: whether the space knows the author.
  @discardableResult
  public func assign(_ replica: ReplicaID, to member: MemberName?, in space: SpaceName) throws
    -> Bool
  {
    try change(replica, in: space) { $0.member = member }
  }

  private func change(
    _ replica: ReplicaID, in space: SpaceName, _ body: (inout AuthorRecord) throws -> Void
  ) throws -> Bool {
    try store.update(space) { transaction in
      try checkRoom(transaction)
      let known = try transaction.authorRecords(of: [replica])[replica]
      guard try known != nil || !transaction.heads(of: [replica]).isEmpty else { return false }
      var record = known ?? AuthorRecord()
      try body(&record)
      try transaction.set(record, of: replica)
      return true
    }
  }
}

extension RemoteAuthor {
  /// What devices are told; `nil` where that is nothing.
  init?(_ record: AuthorRecord) {
    self.init(member: record.member?.text, bannedAfter: record.bannedAfter)
    if let known = record.brought, known.first <= known.last {
      brought = known.first...known.last
      if case .member(let name) = known.bringer { broughtBy = name.text }
    }
    let isKnown = member != nil || bannedAfter != nil || broughtBy != nil
    guard isKnown || record.brought?.bringer == .several else { return nil }
  }
}

/// A replica id in a space.
public struct SpaceAuthor: Hashable, Sendable {
  public var record = AuthorRecord()
  /// Of its newest operation; 0 for one that wrote nothing.
  public var sequence: UInt64 = 0
  /// The position up to which it has read, where its lease keeps what follows from being trimmed.
  public var lease: UInt64?
}
#endif
