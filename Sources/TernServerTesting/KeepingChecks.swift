#if Server
import Foundation
import TernCore
import TernServer
import TernTesting

/// Leases, marks, reports, quotas and deadlines.
enum KeepingChecks {
  static func checkLeases(_ space: StoreSpace) throws {
    var a = StoreAuthor(1)
    try space.append(a.next(3))
    let (one, other) = (a.id, StoreAuthor(2).id)
    let lease = Lease(position: 2, renewed: .at(1))
    try space.update { transaction in
      try transaction.set(lease, of: one)
      try transaction.set(lease, of: other)
    }
    let moved = Lease(position: 3, renewed: .at(2))
    try space.update { try $0.set(moved, of: other) }
    let all = try space.update { try $0.leases() }
    try requireEqual(.compactionIsUnseen, all, [one: lease, other: moved], "the leases")
    for (replica, expected) in [(one, lease), (other, moved), (StoreAuthor(3).id, nil)] {
      let found = try space.store.lease(of: replica, in: space.name)
      try requireEqual(.compactionIsUnseen, found, expected, "the lease of \(replica)")
    }
    try space.update { transaction in
      try transaction.set(nil, of: one)
      try transaction.set(nil, of: StoreAuthor(3).id)
    }
    let rest = try space.update { try $0.leases() }
    try requireEqual(.compactionIsUnseen, rest, [other: moved], "the leases after one went")
    let gone = try space.store.lease(of: one, in: space.name)
    try requireEqual(.compactionIsUnseen, gone, nil, "a lease that went")
  }

  static func checkMarks(_ space: StoreSpace) throws {
    var a = StoreAuthor(1)
    try space.append(a.next(4))
    let marks = (1...4).map { PositionMark(position: UInt64($0), time: .at($0)) }
    for mark in marks { try space.update { try $0.add(mark, .stored) } }
    try space.update { try $0.add(marks[1], .trimmed) }
    func check(_ stored: ArraySlice<PositionMark>, _ trimmed: [PositionMark], _ what: String) throws
    {
      let found = try space.update { try ($0.marks(.stored), $0.marks(.trimmed)) }
      try requireEqual(.compactionIsUnseen, found.0, Array(stored), "marks \(what)")
      try requireEqual(.compactionIsUnseen, found.1, trimmed, "marks of trimming \(what)")
    }
    try check(marks[...], [marks[1]], "of both kinds")
    try space.update { try $0.removeMarks(before: 3, .stored) }
    try check(marks[2...], [marks[1]], "before a position are removed")
    try space.update { try $0.removeMarks(before: 2, .trimmed) }
    try check(marks[2...], [marks[1]], "at a position are not before it")
    try space.update { try $0.removeMarks(before: .max, .trimmed) }
    try check(marks[2...], [], "of one kind are removed")
  }

  static func checkState(_ space: StoreSpace) throws {
    var a = StoreAuthor(1)
    let none = try space.update { try $0.state }
    try requireEqual(.convergence, none, nil, "before any report")
    for round in 1...2 as ClosedRange<UInt64> {
      try space.append(a.next(1))
      for isDisputed in [false, true] {
        let state = StoredState.reported(by: a.id, at: round, isDisputed: isDisputed)
        try space.update { try $0.set(state) }
        let found = try space.update { try $0.state }
        try requireEqual(.convergence, found, state, "the last report, in a transaction")
        try requireEqual(.convergence, try space.summary.state, state, "the last report")
      }
    }
  }

  static func checkQuota(_ space: StoreSpace) throws {
    let quotas = [
      SpaceQuota(bytes: 1 << 53, operations: 0, authors: 3, share: 100),
      SpaceQuota(operations: 7), SpaceQuota(),
    ]
    for quota in quotas {
      try space.update { try $0.set(quota) }
      try requireEqual(.limitsHold, try space.usage.quota, quota, "a quota")
      let found = try space.update { try $0.usage.quota }
      try requireEqual(.limitsHold, found, quota, "a quota, in the next transaction")
    }
  }

  static func checkDeadlines(_ space: StoreSpace) throws {
    let all = [
      SpaceDeadlines(refill: .at(1), trimming: .at(2)), SpaceDeadlines(trimming: .at(3)),
      SpaceDeadlines(refill: .at(4)), SpaceDeadlines(),
    ]
    for deadlines in all {
      try space.update { try $0.set(deadlines) }
      let found = try space.update { try $0.deadlines }
      try requireEqual(.acknowledgedIsStored, found, deadlines, "the deadlines")
    }
  }

  static func checkSuspension(_ space: StoreSpace) throws {
    let beside = try space.beside()
    try beside.update { _ in }
    for time in [Date.at(1), nil, .at(2)] {
      try space.update { try $0.set(SpaceDeadlines(refill: .at(9), suspended: time)) }
      let (found, deadlines) = try space.update { ($0.suspended, try $0.deadlines) }
      try requireEqual(.acknowledgedIsStored, found, time, "a suspension")
      try requireEqual(
        .acknowledgedIsStored, deadlines, SpaceDeadlines(refill: .at(9), suspended: time),
        "a suspension among deadlines")
      try requireEqual(.acknowledgedIsStored, try space.summary.suspended, time, "in the summary")
      try requireEqual(
        .spacesAreApart, try beside.summary.suspended, nil, "the suspension of another space")
    }
  }

  /// A space that is made here is served, and has the epoch of its store.
  static func checkStanding(_ space: StoreSpace) throws {
    let token = space.token("one")
    let made = SpaceStanding(epoch: space.store.epoch)
    func check(_ when: String) throws {
      try requireEqual(.cursorFollowsState, try space.summary.standing, made, "a summary's \(when)")
      try requireEqual(.cursorFollowsState, try space.page().standing, made, "a page's \(when)")
    }
    func alone() throws -> SpaceStanding? { try space.store.standing(of: space.name) }
    try check("before there is the space")
    try requireEqual(.cursorFollowsState, try alone(), nil, "where a space that isn't there stands")
    var a = StoreAuthor(1)
    let first = try space.update { transaction in
      try transaction.add(token)
      return transaction.standing
    }
    try requireEqual(.cursorFollowsState, first, made, "the standing of a new space")
    try space.append(a.next(2))
    let second = try space.update { $0.standing }
    try requireEqual(.cursorFollowsState, second, made, "the standing, in a transaction")
    try check("behind operations")
    try requireEqual(.cursorFollowsState, try alone(), made, "where the space stands")
    let phases = try [space.store.token(token.digest)?.phase] + space.store.tokens().map(\.phase)
    try requireEqual(.spacesAreApart, phases, [.served, .served], "the phase of a token's space")
  }

  static func checkKeepingMost(_ space: StoreSpace) throws {
    let beside = try space.beside()
    var (a, b) = (StoreAuthor(1), StoreAuthor(2))
    try space.append(a.next(2))
    try beside.append(b.next(2, bytes: 100))
    func most() throws -> SpaceName? { try space.store.spaceKeepingMost() }
    func keep(_ one: StoreSpace) throws {
      try one.update { transaction in
        try transaction.trim(through: 2)
        while try transaction.releaseTrimmed(operations: 9) {}
      }
    }
    try requireEqual(.limitsHold, try most(), nil, "the one that keeps most, where none does")
    try keep(space)
    try requireEqual(.limitsHold, try most(), space.name, "the one that keeps anything")
    try keep(beside)
    try requireEqual(.limitsHold, try most(), beside.name, "the one that keeps most")
    try checkStatistics(space.store)
    _ = try space.store.removeSpace(beside.name)
    try checkStatistics(space.store)
    try requireEqual(.limitsHold, try most(), space.name, "the one left that keeps anything")
    try space.update {
      _ = try $0.removeTrimmed(through: 2, operations: 9, contentBytes: 1 << 30)
    }
    try requireEqual(.limitsHold, try most(), nil, "after everything that was kept is removed")
    try require(.limitsHold, try space.store.reusableBytes() >= 0, "reusable bytes are negative")
  }

  /// What the store counts of all spaces is what it counts of each.
  private static func checkStatistics(_ store: any SpaceStore) throws {
    let usages = try store.spaces().map { try store.usage(of: $0) }
    var statistics = try store.statistics()
    statistics.database = nil
    let sums = StoreStatistics(
      spaces: usages.count, bytes: usages.reduce(0) { $0 + $1.bytes },
      keptBytes: usages.reduce(0) { $0 + $1.keptBytes })
    try requireEqual(.limitsHold, statistics, sums, "the store's statistics")
  }
}
#endif
