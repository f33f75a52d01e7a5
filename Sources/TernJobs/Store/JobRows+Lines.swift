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

/// The lines of jobs that are due.
extension JobRows {
  /// One for each service, kind, lane and need that jobs are due of, found by the index alone.
  func lines() throws -> [JobLine] {
    var lines: [JobLine] = []
    var statement = try FastStatement(connection.db, Self.foremost)
    while let head = try statement.first({ head(statement) }) {
      lines.append(JobLine(first: head))
      statement = try self.statement(Self.further, of: head, limit: 1)
    }
    return lines
  }

  /// A statement about the line of a job.
  private func statement(
    _ sql: (ofTexts: String, ofRow: String), of head: ClaimChoice.Head, limit: Int
  ) throws -> FastStatement {
    let isOfRow = head.mayReadOtherwise
    let statement = try FastStatement(connection.db, isOfRow ? sql.ofRow : sql.ofTexts)
    if isOfRow {
      statement.bindAll(limit, head.job.rawValue)
    } else {
      statement.bindAll(limit, head.service ?? "", head.lane.kind, head.lane.name, head.needs)
    }
    return statement
  }

  /// Leaves the first behind, which is not due any more or waits for room, and those who
  /// wait for that.
  ///
  /// - Parameter count: how many to read where none is read ahead.
  /// - Returns: `false` where none is left.
  func advance(_ line: inout JobLine, reading count: Int, past room: JobRoom) throws -> Bool {
    while true {
      while let next = line.ahead.popFirst() {
        if room.holds(next.job) { continue }
        line.first = next
        return true
      }
      guard line.hasMore else { return false }
      // Who waits for room is due, and is found each time.
      let most = count + min(room.refusedAt.count, .max - count)
      let statement = try statement(Self.following, of: line.first, limit: most)
      var found: [ClaimChoice.Head] = []
      try statement.each { found.append(self.head(statement)) }
      (line.ahead, line.hasMore) = (found[...], found.count == most)
    }
  }

  /// Those behind one that waits for room go on, and may make it some.
  func skip(_ lines: inout [JobLine], reading count: Int, past room: JobRoom) throws {
    if room.refusedAt.isEmpty { return }
    lines = try lines.compactMap { line in
      var line = line
      if room.holds(line.first.job), try !advance(&line, reading: count, past: room) { return nil }
      return line
    }
  }

  private static let columns =
    "SELECT service, kind, lane, needs, priority, ready_ms, id FROM \(JobTables.job)"
  private static let order =
    "ORDER BY service, kind, lane, needs, priority DESC, ready_ms, id LIMIT 1"
  private static let foremost = "\(columns) WHERE \(JobTables.isDue) \(order)"
  private static let further = ofLine { service, kind, lane, needs in
    // Of a comparison of rows SQLite takes the index for “not less”, and looks at each that is
    // equal.
    [
      "service = \(service) AND kind = \(kind) AND lane = \(lane) AND needs > \(needs)",
      "service = \(service) AND kind = \(kind) AND lane > \(lane)",
      "service = \(service) AND kind > \(kind)", "service > \(service)",
    ].map { "SELECT * FROM (\(columns) WHERE \(JobTables.isDue) AND \($0) \(order))" }
      .joined(separator: " UNION ALL ") + " LIMIT ?1"
  }
  private static let following = ofLine { service, kind, lane, needs in
    """
    \(columns) WHERE \(JobTables.isDue) AND service = \(service) AND kind = \(kind)
      AND lane = \(lane) AND needs = \(needs)
    ORDER BY priority DESC, ready_ms, id LIMIT ?1
    """
  }

  /// With a line's texts bound, and with those of a job's row.
  private static func ofLine(
    _ sql: (String, String, String, String) -> String
  ) -> (ofTexts: String, ofRow: String) {
    func ofRow(_ column: String) -> String {
      "(SELECT \(column) FROM \(JobTables.job) WHERE id = ?2)"
    }
    return (
      sql("?2", "?3", "?4", "?5"),
      sql(ofRow("service"), ofRow("kind"), ofRow("lane"), ofRow("needs"))
    )
  }

  private func head(_ row: FastStatement) -> ClaimChoice.Head {
    let service = row.text(0)
    return ClaimChoice.Head(
      job: JobID(rawValue: row.int64(6)), lane: JobLane(kind: row.text(1), name: row.text(2)),
      service: service.isEmpty ? nil : service, needs: row.text(3), priority: row.int(4),
      ready: WallTime(milliseconds: row.int64(5)))
  }
}

extension ClaimChoice.Head {
  /// Whether its texts can be others than its row's: of a database that was damaged, what is no
  /// UTF-8 reads as U+FFFD, behind which the same row may come again.
  fileprivate var mayReadOtherwise: Bool {
    func isRepaired(_ text: String) -> Bool { text.unicodeScalars.contains("\u{FFFD}") }
    return isRepaired(service ?? "") || isRepaired(lane.kind) || isRepaired(lane.name)
      || isRepaired(needs)
  }
}
