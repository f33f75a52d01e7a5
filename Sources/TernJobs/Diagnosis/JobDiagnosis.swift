import Foundation
import GRDB
import TernCore
import TernDatabase

/// Looks through a queue's tables, and through the folder of its files, for what a queue promises.
package struct JobDiagnosis {
  let db: Database
  let findings: Findings

  /// Beyond this a pause is no pause: a clock was wrong.
  private static let longestGateMilliseconds: Int64 = 366 * 86_400_000

  package init(_ db: Database, _ findings: Findings) {
    (self.db, self.findings) = (db, findings)
  }

  /// - Parameter isWorking: whether a worker runs, as far as that is known.
  /// - Returns: whether there is a queue that this Tern can read.
  package func run(isWorking: Bool? = nil) throws -> Bool {
    guard try db.tableExists(JobTables.queue),
      let format = try Int.fetchOne(
        db, sql: "SELECT CAST(format AS INTEGER) FROM \(JobTables.queue)")
    else { return false }
    if format > JobTables.format {
      try findings.add(.newerFormat, "the job queue has format \(format)")
      return true
    }
    // Opening it says what to do.
    if format < JobTables.format { return false }
    let added = [JobTables.error: JobTables.addedToErrors]
    guard
      try TableForms(findings).check(
        JobTables.creation, added: added, addedTables: JobTables.added, in: db)
    else { return true }
    try checkJobs(isWorking)
    try checkParts()
    try checkGates(isWorking)
    return true
  }

  private func place(_ job: Int64) -> DatabaseFinding.Place { .init(name: "job \(job)") }

  // MARK: - Jobs

  private func checkJobs(_ isWorking: Bool?) throws {
    var unfinished = 0
    let rows = try Row.fetchCursor(
      db,
      sql: """
        SELECT id, kind, state, starts, failures, unreached, deaths, reason FROM \(JobTables.job)
        """)
    while let row = try rows.next() {
      let place = place(row["id"])
      let state = (row["state"] as Int?).flatMap(JobState.init)
      unfinished += 1
      guard let state, !state.hasEnded, (row["starts"] as Int) >= 0, (row["failures"] as Int) >= 0,
        (row["unreached"] as Int) >= 0, (row["deaths"] as Int) >= 0
      else {
        try findings.add(.jobState, "its state or its counts are none", at: place)
        continue
      }
      if state.isStuck {
        let reason = (row["reason"] as String?).map { ": \($0)" } ?? ""
        try findings.add(
          .jobStuck, "a job of kind \(row["kind"] as String) is \(state)\(reason)", at: place)
      }
      if state == .running, isWorking == false {
        try findings.add(.jobAbandoned, "the job runs, and its process is gone", at: place)
      }
    }
    let counted = try Int.fetchOne(db, sql: "SELECT unfinished FROM \(JobTables.queue)")
    if counted != unfinished {
      try findings.add(
        .jobCount,
        "the queue counts \(counted ?? 0) jobs that have not ended, and has \(unfinished)")
    }
    try checkHistory()
  }

  private func checkHistory() throws {
    let ended = [JobState.done, .cancelled].map { "\($0.rawValue)" }.joined(separator: ", ")
    let rows = try Row.fetchCursor(
      db,
      sql: """
        SELECT id FROM \(JobTables.history)
        WHERE state NOT IN (\(ended)) OR id IN (SELECT id FROM \(JobTables.job))
        """)
    while let row = try rows.next() {
      try findings.add(
        .jobState, "the history has a job that has not ended", at: place(row["id"]))
    }
    let found = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(JobTables.history)")!
    let counted = try Int.fetchOne(db, sql: "SELECT ended FROM \(JobTables.queue)") ?? 0
    if counted != found {
      try findings.add(
        .jobCount, "the queue counts \(counted) jobs that have ended, and has \(found)")
    }
  }

  /// What belongs to a job goes with it.
  private func checkParts() throws {
    let parts = [
      (JobTables.checkpoint, "checkpoint"), (JobTables.file, "file"), (JobTables.error, "failure"),
    ]
    for (table, what) in parts {
      let rows = try Row.fetchCursor(
        db,
        sql: """
          SELECT p.job FROM \(table) AS p
          WHERE NOT EXISTS (
            SELECT 1 FROM \(JobTables.job) WHERE id = p.job)
          """)
      while let row = try rows.next() {
        try findings.add(
          .jobPart, "a \(what) is of a job that has ended or is gone", at: place(row["job"]))
      }
    }
    let kinds = Set(CheckpointKind.allCases.map(\.rawValue))
    let rows = try Row.fetchCursor(
      db, sql: "SELECT DISTINCT kind FROM \(JobTables.checkpoint)")
    while let row = try rows.next() {
      guard !kinds.contains(row["kind"]) else { continue }
      try findings.add(.jobPart, "a checkpoint's kind is none")
    }
  }

  // MARK: - Gates

  private func checkGates(_ isWorking: Bool?) throws {
    let rows = try Row.fetchCursor(
      db,
      sql: """
        SELECT g.*, j.state FROM \(JobTables.gate) AS g
        LEFT JOIN \(JobTables.job) AS j ON j.id = g.probe
        """)
    while let row = try rows.next() {
      let place = DatabaseFinding.Place(name: "service \(row["service"] as String)")
      let gate = GateLife(row)
      let length = gate.reopens.milliseconds.subtractingReportingOverflow(gate.since.milliseconds)
      if length.overflow || !(0...Self.longestGateMilliseconds).contains(length.partialValue) {
        try findings.add(
          .gateForever, "its gate is closed for more than a year, or until before it closed",
          at: place)
      } else if gate.probe != nil, row["state"] != JobState.running.rawValue, isWorking != false {
        try findings.add(
          .gateForever, "its gate waits for a job that does not run", at: place)
      } else {
        try findings.add(.gateClosed, "its gate is closed", at: place)
      }
    }
  }
}
