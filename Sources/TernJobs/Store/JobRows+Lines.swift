import TernCore
import TernDatabase

/// Jobs of one service, kind, lane and need that are due, in their order, as far as they were read.
struct JobLine {
  fileprivate(set) var first: ClaimChoice.Head
  /// Those behind it.
  fileprivate var ahead: ArraySlice<ClaimChoice.Head> = []
  /// Whether more may stand behind those.
  fileprivate var hasMore = true
}

extension JobRows {
  /// One for each service, kind, lane and need that jobs are due of, found by the index alone.
  func lines() throws -> [JobLine] {
    var lines: [JobLine] = []
    var statement = try FastStatement(db, Self.foremost)
    while let head = try statement.first({ head(statement) }) {
      lines.append(JobLine(first: head))
      statement = try FastStatement(db, Self.further)
      statement.bindAll(head.service ?? "", head.lane.kind, head.lane.name, head.needs)
    }
    return lines
  }

  /// Leaves the first behind, which is not due any more.
  ///
  /// - Parameter count: how many to read where none is read ahead.
  /// - Returns: `false` where none is left.
  func advance(_ line: inout JobLine, reading count: Int) throws -> Bool {
    if line.ahead.isEmpty, line.hasMore {
      let statement = try FastStatement(db, Self.following)
      let head = line.first
      statement.bindAll(head.service ?? "", head.lane.kind, head.lane.name, head.needs, count)
      var found: [ClaimChoice.Head] = []
      try statement.each { found.append(self.head(statement)) }
      (line.ahead, line.hasMore) = (found[...], found.count == count)
    }
    guard let next = line.ahead.popFirst() else { return false }
    line.first = next
    return true
  }

  private static let columns =
    "SELECT service, kind, lane, needs, priority, ready_ms, id FROM \(JobTables.job)"
  private static let order =
    "ORDER BY service, kind, lane, needs, priority DESC, ready_ms, id LIMIT 1"
  private static let foremost = "\(columns) WHERE \(JobTables.isDue) \(order)"
  // Of a comparison of rows SQLite takes the index for “not less”, and looks at each that is equal.
  private static let further =
    [
      "service = ?1 AND kind = ?2 AND lane = ?3 AND needs > ?4",
      "service = ?1 AND kind = ?2 AND lane > ?3", "service = ?1 AND kind > ?2", "service > ?1",
    ].map { "SELECT * FROM (\(columns) WHERE \(JobTables.isDue) AND \($0) \(order))" }
    .joined(separator: " UNION ALL ") + " LIMIT 1"
  private static let following = """
    \(columns) WHERE \(JobTables.isDue) AND service = ? AND kind = ? AND lane = ?
      AND needs = ?
    ORDER BY priority DESC, ready_ms, id LIMIT ?
    """

  private func head(_ row: FastStatement) -> ClaimChoice.Head {
    let service = row.text(0)
    return ClaimChoice.Head(
      job: JobID(rawValue: row.int64(6)), lane: JobLane(kind: row.text(1), name: row.text(2)),
      service: service.isEmpty ? nil : service, needs: row.text(3), priority: row.int(4),
      ready: WallTime(milliseconds: row.int64(5)))
  }
}
