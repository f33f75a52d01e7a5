#if Server
@_spi(Rehearsal) import TernCore

/// Moves one space from a store to another. At every moment at most one of the two takes what is
/// pushed, and each step is one short transaction: whatever ends a move, doing it again goes on.
///
/// The space is copied while it is served. Then it is frozen, what changed meanwhile is copied, and
/// the copy is compared. The other store serves it from then on, and only then it is marked as
/// moved away here. See `Docs/Design/0060-moving-spaces.md`.
package struct SpaceMove {
  package let space: SpaceName
  package let source: any MovableStore
  package let target: any MovableStore
  let limits: ServerLimits
  /// Who moves it, for both stores' audit logs; `nil` records nothing.
  let actor: AuditActor?
  /// Says before so many bytes are written to the target whether it has the room.
  let room: (Int) throws -> Void
  /// Told what is next. What it throws ends the move there.
  let willDo: (Step) throws -> Void

  /// A step of a move, in their order.
  package enum Step: Hashable, Sendable {
    /// Notes in the source that the space leaves.
    case leave
    /// Makes the space in the target, which gives nobody anything of it.
    case arrive
    /// Copies operations that follow a position.
    case copyOperations(after: Int64)
    /// Copies the rows of snapshots; their parts follow.
    case copySnapshots
    case copyPart(Int64)
    /// From here on the source takes nothing new.
    case freeze
    /// Removes bytes that the source has trimmed since they were copied.
    case trim
    /// Copies all that is small.
    case settle
    case compare
    /// From here on the target serves the space.
    case open
    /// From here on the source doesn't.
    case finish
  }

  package init(
    _ space: SpaceName, from source: any MovableStore, to target: any MovableStore,
    limits: ServerLimits = .init(), by actor: AuditActor? = nil,
    room: @escaping (Int) throws -> Void = { _ in },
    willDo: @escaping (Step) throws -> Void = { _ in }
  ) {
    self.space = space
    self.source = source
    self.target = target
    self.limits = limits
    self.actor = actor
    self.room = room
    self.willDo = willDo
  }

  /// Moves the space, or goes on with what an earlier run began.
  ///
  /// - Returns: whether there was anything to do: it may have been moved there before.
  /// - Throws: ``SpaceMoveError``; ``RemoteError`` with `too-many-spaces`; what `room` throws; the
  ///   stores' errors.
  @discardableResult
  package func run() throws -> Bool {
    guard source.epoch != target.epoch else {
      throw SpaceMoveError(
        .sameStore, "space \(space) is in that store; name another one to move it to")
    }
    let standing = try standing(in: source)
    switch standing?.phase {
    case nil:
      throw SpaceMoveError(
        .absent, "there is no space \(space) to move; see 'tern space list'")
    case .arriving:
      throw SpaceMoveError(
        .elsewhere,
        "space \(space) is being moved to the store that it is to leave; finish that move first")
    case .served: try begin()
    case .leaving, .frozen, .moved:
      guard standing?.peer == target.epoch else {
        throw SpaceMoveError(
          .elsewhere,
          "space \(space) is on its way to another store, or was moved there; go on with that one, "
            + "or end that move with --cancel")
      }
    }
    if standing?.phase == .moved { return false }
    if let there = try self.standing(in: target), there.phase != .arriving {
      // An earlier run opened it, and did not hear of that or not come to its end.
      guard there.phase == .served, there.peer == source.epoch else { throw taken() }
    } else {
      try copyAndOpen()
    }
    try finish()
    return true
  }

  private func copyAndOpen() throws {
    let copy = SpaceCopy(move: self)
    try copy.begin()
    try copy.copyAhead()
    try freeze()
    try copy.copyRest()
    if Planted.isActive(.goneEarly) { try finish() }
    try open()
  }

  // MARK: - Steps

  private func begin() throws {
    guard try standing(in: target) == nil else { throw taken() }
    try willDo(.leave)
    try change(source, from: [.served], peer: nil, as: .beginMove) {
      $0.phase = .leaving
      $0.peer = target.epoch
    }
  }

  private func freeze() throws {
    try willDo(.freeze)
    try change(source, from: [.leaving, .frozen], peer: target.epoch) { $0.phase = .frozen }
  }

  private func open() throws {
    try willDo(.open)
    try change(target, from: [.arriving], peer: source.epoch, as: .receiveSpace) {
      $0.phase = .served
    }
  }

  private func finish() throws {
    try willDo(.finish)
    try change(source, from: [.frozen, .moved], peer: target.epoch, as: .finishMove) {
      $0.phase = .moved
    }
  }

  /// Takes back a move that did not come to its end: the source serves the space as before, and
  /// what was copied is marked to be removed.
  ///
  /// - Throws: ``SpaceMoveError`` with `over` where the target serves it already.
  package func cancel() throws {
    let here = try standing(in: source)
    if let there = try standing(in: target), there.peer == source.epoch {
      guard [.arriving, .moved].contains(there.phase), here?.phase != .moved else {
        throw SpaceMoveError(
          .over,
          "space \(space) is served where it was moved to; run the move once more to finish it")
      }
      // In a transaction of its own, so that a move that runs beside this opens it no more.
      try change(target, from: [.arriving, .moved], peer: source.epoch) { $0.phase = .moved }
      _ = try target.removeSpace(space)
    }
    if let here, here.phase == .leaving || here.phase == .frozen {
      guard here.peer == target.epoch else {
        throw SpaceMoveError(
          .elsewhere, "space \(space) is on its way to another store; name that one")
      }
      try Self.serveAgain(space, in: source, by: actor)
    }
    while try target.removeRemains(
      rows: limits.trimmedOperations, contentBytes: limits.trimmedBytes)
    {}
  }

  /// Ends a move whose target is lost for good: the space is served as before. With a target that
  /// is there, ``cancel()`` looks whether that serves it already.
  ///
  /// - Throws: ``SpaceMoveError`` with `over` for a space that is not on its way.
  package static func serveAgain(
    _ space: SpaceName, in source: any MovableStore, by actor: AuditActor? = nil
  ) throws {
    try source.updateRows(of: space) { transaction, rows in
      var standing = transaction.standing
      guard try transaction.spacesBefore == nil, [.leaving, .frozen].contains(standing.phase) else {
        throw SpaceMoveError(
          .over, "space \(space) is not on its way to another store; see 'tern space list'")
      }
      (standing.phase, standing.peer) = (.served, nil)
      try rows.set(standing)
      try record(.cancelMove, of: space, by: actor, at: source, transaction)
    }
  }

  // MARK: - Standings

  private func taken() -> SpaceMoveError {
    SpaceMoveError(
      .taken,
      "the store that space \(space) is to go to has one of that name already. If it is the rest of "
        + "an earlier move, remove it with --cancel; otherwise delete it with 'tern space delete', or "
        + "name another store")
  }

  /// `nil` for a space that doesn't exist.
  func standing(in store: any MovableStore) throws -> SpaceStanding? {
    try store.standing(of: space)
  }

  /// Writes a standing, if the space still has one of those that are expected.
  ///
  /// - Parameters:
  ///   - peer: the one that it has to have; `nil` where it doesn't matter.
  ///   - action: what the audit log calls it; `nil` for a step that it doesn't tell of.
  private func change(
    _ store: any MovableStore, from phases: [SpacePhase], peer: String?,
    as action: AuditAction? = nil, _ body: (inout SpaceStanding) -> Void
  ) throws {
    try store.updateRows(of: space) { transaction, rows in
      var standing = transaction.standing
      guard try transaction.spacesBefore == nil, phases.contains(standing.phase),
        peer == nil || standing.peer == peer
      else { throw interrupted() }
      let before = standing
      body(&standing)
      try rows.set(standing)
      // What an earlier run did it has recorded.
      guard let action, standing != before else { return }
      try Self.record(action, of: space, by: actor, at: store, transaction)
    }
  }

  private static func record(
    _ action: AuditAction, of space: SpaceName, by actor: AuditActor?, at store: any MovableStore,
    _ transaction: any SpaceTransaction
  ) throws {
    guard let actor else { return }
    try transaction.audit.add(
      AuditEntry(actor: actor, action: action, space: space, time: store.clock.now),
      keeping: ServerLimits().auditRecords)
  }

  func interrupted() -> SpaceMoveError {
    SpaceMoveError(
      .interrupted,
      "something else changed space \(space) during its move, as another move or its removal; look at "
        + "'tern space list' of both stores, and run the move again")
  }
}
#endif
