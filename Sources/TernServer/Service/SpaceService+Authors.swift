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
    try reserve.check()
    try access.update(space) { space in
      try space.ensureRoom()
      var record = try space.record(of: replica) ?? AuthorRecord()
      guard record.member == nil, record.bannedAfter == nil else { return }
      let isNew = try space.rows.heads(of: [replica]).isEmpty
      guard try space.room.left(for: member, isNew: isNew) > 0 else { return }
      record.member = member
      try space.rows.set(record, of: replica)
    }
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
    let newest = try access.look(at: space) {
      try $0.ensureIsThere()
      return leases.newest(of: try $0.rows.leases(), in: space)
    }
    for (replica, lease) in newest {
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
    try access.update(space) { space in
      try space.ensureRoom()
      // It holds back nobody.
      try space.rows.set(nil as Lease?, of: replica)
      var record = try space.record(of: replica) ?? AuthorRecord()
      if let last = record.bannedAfter { return last }
      let head = try space.rows.heads(of: [replica])[replica]?.sequence ?? 0
      (record.bannedAfter, record.admitted) = (head, nil)
      try space.rows.set(record, of: replica)
      try space.record(.banReplica, ["replica": "\(replica)", "after": "\(head)"])
      return head
    }
  }

  /// Takes a ban back.
  ///
  /// - Returns: whether the space knows the author.
  @discardableResult
  public func unban(_ replica: ReplicaID, in space: SpaceName) throws -> Bool {
    // What was admitted before is not in force again by this.
    try access.update(space) {
      try $0.change(replica, as: .unbanReplica) { ($0.bannedAfter, $0.admitted) = (nil, nil) }
    }
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
    try access.update(space) {
      try $0.change(replica, as: .admitReplica, ["through": "\(sequence)"]) { record in
        if let last = record.bannedAfter {
          throw RemoteError(
            .authorBanned,
            "replica \(replica) is banned after operation \(last), so that nothing of it can be "
              + "admitted; run 'tern replica unban' first", replica: replica)
        }
        record.admitted = sequence
      }
    }
  }

  /// Gives an id to a member, whoever had claimed it; `nil` gives it to nobody.
  ///
  /// - Returns: whether the space knows the author.
  @discardableResult
  public func assign(_ replica: ReplicaID, to member: MemberName?, in space: SpaceName) throws
    -> Bool
  {
    let details = member.map { ["member": $0.text] } ?? [:]
    return try access.update(space) {
      try $0.change(replica, as: .assignReplica, details) { $0.member = member }
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
