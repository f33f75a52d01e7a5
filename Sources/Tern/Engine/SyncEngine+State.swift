import TernCore

extension SyncEngine {
  /// Compares the state with what a replica reported, and reports it where nobody has, or where no
  /// snapshot makes the two equal (INV-01).
  func compare(with other: StateReport?) async throws -> SyncSession.Event {
    let known = try store.comparison(at: remote.id)
    if let other, let known, known.report == other.name {
      if known.tables.isEmpty { return .compared(isEqual: true) }
      if !session.canRepair { return differed(known.tables, other) }
    }
    // Of another place than the one where this replica stands now, nothing can be said.
    let cursor = try store.place(at: remote.id)?.cursor
    let comparable = other.flatMap { $0.cursor == cursor ? $0 : nil }
    guard comparable != nil || session.wantsState,
      var mine = try store.stateReport(at: remote.id, merged: session.heads)
    else { return .compared(isEqual: false) }
    mine.isRepaired = session.isRepaired
    do {
      guard let other = comparable, mine.isComparable(to: other) else {
        if session.wantsState {
          try await remote.report(mine)
          try note(mine)
        }
        return .compared(isEqual: false)
      }
      let tables = mine.differingTables(from: other)
      if tables.isEmpty {
        try note(other)
        return .compared(isEqual: true)
      }
      if session.canRepair { return differed(tables, other) }
      try await remote.report(mine)
      if mine.replaces(other) {
        try note(mine)
        return .compared(isEqual: true)
      }
      try note(other, differing: tables)
      return differed(tables, other)
    } catch let error as RemoteError {
      return .failed(error, jitter: environment.jitter())
    }
  }

  /// What came of the last comparison. A replica that is banned since is no reason to doubt.
  func comparison(after greeting: RemoteGreeting) throws -> StateComparison? {
    guard let known = try store.comparison(at: remote.id),
      greeting.authors.contains(where: { $1.bannedAfter != nil && known.differed(from: $0) })
    else { return try store.comparison(at: remote.id) }
    let settled = StateComparison(snapshot: known.snapshot)
    try store.save(settled, at: remote.id)
    status.update { $0.differingTables = [] }
    return settled
  }

  private func note(_ report: StateReport, differing tables: [String] = []) throws {
    status.update { $0.differingTables = tables }
    try store.save(
      StateComparison(report: report.name, tables: tables, snapshot: session.triedSnapshot),
      at: remote.id)
  }

  private func differed(_ tables: [String], _ other: StateReport) -> SyncSession.Event {
    status.update { $0.differingTables = tables }
    let error = RemoteError(
      .stateDiffers,
      "\(tables.joined(separator: ", ")): another state than replica \(other.replica) has of the same "
        + "operations; a snapshot mends it as soon as another device has given the remote one",
      replica: other.replica)
    return .differed(error, jitter: environment.jitter())
  }
}
