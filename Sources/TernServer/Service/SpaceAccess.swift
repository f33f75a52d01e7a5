#if Server
import Foundation
@_spi(Rehearsal) import TernCore

/// A store, and what the rules of its spaces go by.
struct SpaceAccess: Sendable {
  let store: any SpaceStore
  let clock: ServerClock
  let watch: ClockWatch
  let limits: ServerLimits
  /// Whether writing makes a space that doesn't exist.
  let makesSpaces: Bool
  /// In whose name an operator's changes are recorded; `nil` records none.
  let actor: AuditActor?

  /// One transaction that may write into a space.
  ///
  /// - Throws: ``RemoteError`` with `unavailable` or `space-moved` for one that is on its way to
  ///   another store, and takes nothing here.
  func update<Value: Sendable>(
    _ space: SpaceName, _ body: (LockedSpace) throws -> Value
  ) throws -> Value {
    try look(at: space) { try writing(into: $0, body) }
  }

  private func writing<Value>(
    into locked: LockedSpace, _ body: (LockedSpace) throws -> Value
  ) throws -> Value {
    if !Planted.isActive(.freezeForgotten) {
      try locked.rows.standing.checkIsWritten(locked.name)
    }
    return try body(locked)
  }

  /// One transaction that only reads, or that looks itself whether the space takes anything.
  func look<Value: Sendable>(
    at space: SpaceName, _ body: (LockedSpace) throws -> Value
  ) throws -> Value {
    try store.update(space) { try body(LockedSpace(name: space, rows: $0, access: self)) }
  }

  /// The same as ``look(at:_:)`` unless another process is at the space.
  func updateUnlessLocked<Value: Sendable>(
    _ space: SpaceName, _ body: (LockedSpace) throws -> Value
  ) throws -> Value? {
    try store.updateUnlessLocked(space) {
      try body(LockedSpace(name: space, rows: $0, access: self))
    }
  }

  /// One of a push, which writes.
  ///
  /// - Throws: As ``update(_:_:)`` does.
  func update<Value: Sendable>(
    _ space: SpaceName, foreseeing push: ForeseenPush, _ body: (LockedSpace) throws -> Value
  ) throws -> Value {
    try store.update(space, foreseeing: push) {
      try writing(into: LockedSpace(name: space, rows: $0, access: self), body)
    }
  }
}

/// A space whose head is locked. Its rules are here and in types over this, one for what each is
/// about.
struct LockedSpace {
  let name: SpaceName
  let rows: any SpaceTransaction
  let access: SpaceAccess

  var clock: ServerClock { access.clock }
  var limits: ServerLimits { access.limits }
  var epoch: String { rows.standing.epoch }
  /// What a clock that nobody sets says is ahead was written down while it was ahead.
  var isSteady: Bool { access.watch.isSteady(clock) }

  var room: AuthorRoom { AuthorRoom(space: self) }
  var quotas: QuotaRules { QuotaRules(space: self) }
  var leases: LeaseRules { LeaseRules(space: self) }
  var upkeep: SpaceUpkeep { SpaceUpkeep(space: self) }
  var intake: SnapshotIntake { SnapshotIntake(space: self) }

  // MARK: - Whether it is there

  /// - Throws: ``RemoteError`` with `unauthorized` or `too-many-spaces`, where this transaction
  ///   makes it and must not.
  func ensureRoom() throws {
    guard let spaces = try rows.spacesBefore else { return }
    guard access.makesSpaces else {
      if access.actor != nil { throw absent }
      throw RemoteError(.unauthorized, "the space was removed, and its tokens with it")
    }
    guard spaces >= limits.spaces else { return }
    throw RemoteError(
      .tooManySpaces,
      "spaces: the store has \(spaces) spaces, its limit; use one of them or another server")
  }

  /// That the space was there before this transaction, which would make it.
  func ensureIsThere() throws {
    guard try rows.spacesBefore == nil else { throw absent }
  }

  private var absent: RemoteError {
    RemoteError(.notFound, "there is no space \(name); see 'tern space list'")
  }

  // MARK: - What an operator asked for

  /// Whether it takes bases. What was opened while the clock was ahead is not open until that date.
  var isRefilled: Bool {
    get throws { isBefore(try rows.deadlines.refill, limits.refillTime) }
  }

  /// Whether it was restored lately, so that nothing is trimmed.
  var isRestored: Bool {
    get throws { isBefore(try rows.deadlines.trimming, limits.trimmedAge) }
  }

  private func isBefore(_ deadline: Date?, _ most: Duration) -> Bool {
    guard let deadline else { return false }
    let left = -clock.age(of: deadline)
    return left > 0 && left <= most.milliseconds
  }

  // MARK: - Its replica ids

  func record(of replica: ReplicaID) throws -> AuthorRecord? {
    try rows.authorRecords(of: [replica])[replica]
  }

  /// Changes what the space says of an author, as an operator.
  ///
  /// - Returns: whether the space knows the author.
  func change(
    _ replica: ReplicaID, as action: AuditAction, _ details: [String: String] = [:],
    _ body: (inout AuthorRecord) throws -> Void
  ) throws -> Bool {
    try ensureRoom()
    let known = try record(of: replica)
    guard try known != nil || !rows.heads(of: [replica]).isEmpty else { return false }
    var record = known ?? AuthorRecord()
    try body(&record)
    guard record != known ?? AuthorRecord() else { return true }
    try rows.set(record, of: replica)
    try self.record(action, details.merging(["replica": "\(replica)"]) { $1 })
    return true
  }
}
#endif
