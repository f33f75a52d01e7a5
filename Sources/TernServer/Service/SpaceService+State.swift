#if Server
@_spi(Rehearsal) import TernCore

extension SpaceService {
  /// Takes a replica's report of its state: as the space's last one, or as a dispute of that.
  ///
  /// - Parameter member: who reports.
  /// - Throws: ``RemoteError`` with `state-superseded` unless it is of the space's newest position,
  ///   with `author-claimed` or `author-banned` where the replica is another member's or banned, or
  ///   with `too-large`.
  public func report(
    _ report: StateReport, in space: SpaceName, by member: MemberName? = nil
  ) throws {
    guard report.tables.count <= limits.reportedTables else {
      throw RemoteError(
        .tooLarge,
        "reportedTables: a report has at most \(limits.reportedTables) tables, and this one has "
          + "\(report.tables.count)")
    }
    try reserve.check()
    try access.update(space) { space in
      let rows = space.rows
      try space.ensureRoom()
      try space.ensureTakes()
      try space.checkReporter(report.replica, member)
      let position = rows.position
      guard position > 0, let place = SpaceCursor(report.cursor),
        place
          == SpaceCursor(
            epoch: space.epoch, position: position, chain: try rows.chain(at: position))
      else {
        throw RemoteError(
          .stateSuperseded, "the space grew since, or was wiped or restored; greet again",
          now: clock.now)
      }
      let known = try rows.state
      guard var known, known.position == position, let last = known.report,
        !report.replaces(last), try space.record(of: last.replica)?.bannedAfter == nil
      else {
        return try rows.set(
          StoredState(report: report, position: position, received: clock.now))
      }
      guard !report.differingTables(from: last).isEmpty, !known.isDisputed else { return }
      known.isDisputed = true
      try rows.set(known)
    }
  }
}

extension LockedSpace {
  /// INV-13: nobody says for another one what its state is, and a banned one is not heard.
  fileprivate func checkReporter(_ replica: ReplicaID, _ member: MemberName?) throws {
    guard let record = try record(of: replica) else { return }
    if record.bannedAfter != nil {
      throw RemoteError(
        .authorBanned,
        "the space takes no state report of replica \(replica): its operator banned it",
        replica: replica)
    }
    if !record.isOpen(to: member), !Planted.isActive(.reportForged) {
      throw RemoteError(
        .authorClaimed,
        "replica \(replica) belongs to another member of the space; only that member can report "
          + "its state", replica: replica)
    }
  }
}

/// What a greeting asks a device for.
extension SpaceSummary {
  /// Whether a snapshot would help: many operations came since the newest, or two replicas differ
  /// and none has been cut since.
  func wantsSnapshot(_ limits: ServerLimits, _ clock: ServerClock) -> Bool {
    guard suspended == nil, mayAskForSnapshot(limits, clock) else { return false }
    let covered = snapshot?.position ?? 0
    if let state, state.isDisputed, covered < state.position { return true }
    return position > covered
      && position - covered > limits.operationsPerSnapshot
  }

  /// After a refusal another device may have a better one, and has time to offer it.
  func mayAskForSnapshot(_ limits: ServerLimits, _ clock: ServerClock) -> Bool {
    guard let refused else { return true }
    return clock.age(of: refused) >= limits.refusalPause.milliseconds
  }

  /// Whether the space has changed since its last report, which is not new.
  func wantsState(_ limits: ServerLimits, _ clock: ServerClock) -> Bool {
    guard position > 0, suspended == nil else { return false }
    guard let state else { return true }
    guard state.position != position else { return false }
    return clock.age(of: state.received) >= limits.stateInterval.milliseconds
      || clock.isAhead(state.received)
  }
}
#endif
