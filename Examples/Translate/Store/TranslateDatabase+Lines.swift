import Foundation
import GRDB
import Tern
import TernJobs

/// Questions wait in a line for each service. What is first in a line has a job; what one service wants
/// holds up no other line.
extension TranslateDatabase {
  /// Sees to it that the first question that waits for a service has a job, and one only. The job of
  /// the one before may not have ended yet; its answer is there.
  func goOn(with service: String, in db: Database) throws {
    let next = try Row.fetchOne(
      db,
      sql: """
        SELECT phrase, job FROM waiting WHERE coalesce(service, ?) = ? ORDER BY place LIMIT 1
        """, arguments: [try Settings(in: db)[.service], service])
    guard let next else { return }
    let job = try (next[1] as Int64?).flatMap { try jobs.record(JobID(rawValue: $0), in: db) }
    if let job, !job.state.hasEnded, !job.state.isStuck { return }
    let phrase: String = next[0]
    let id = try jobs.enqueue(
      AnswerJob(phrase: phrase, service: service), service: service, in: db)
    try db.execute(
      sql: "UPDATE waiting SET job = ? WHERE phrase = ?", arguments: [id.rawValue, phrase])
  }

  /// Asks a service at once that can't be reached, or was to be asked again later.
  func beginAnew(with service: String, in db: Database) throws {
    for job in try underWay(in: db) where job.service == service {
      try jobs.cancel(job.id, in: db)
    }
    try goOn(with: service, in: db)
  }

  /// ``goOn(with:in:)`` for all services.
  func goOn(in db: Database) throws {
    let services = try String.fetchAll(
      db, sql: "SELECT DISTINCT coalesce(service, ?) FROM waiting",
      arguments: [try Settings(in: db)[.service]])
    for service in services { try goOn(with: service, in: db) }
  }

  /// The jobs that wait or run, each with its service, the newest last.
  func underWay(in db: Database) throws -> [(id: JobID, service: String)] {
    try Row.fetchAll(
      db,
      sql: """
        SELECT id, service FROM grdb_tern_jobs
        WHERE kind = ? AND state IN ('waiting', 'running') AND service IS NOT NULL ORDER BY id
        """, arguments: [AnswerJob.kind]
    ).map { (JobID(rawValue: $0[0]), $0[1]) }
  }

  /// Chooses where questions go that name no service, and which model is asked there; those that wait
  /// go there, too.
  ///
  /// - Parameter values: of this device's own settings; `nil` for none, so that the standard holds.
  func set(own values: [Setting: String?], in db: Database) throws {
    let old = try Settings(in: db)[.service]
    try db.execute(sql: "DELETE FROM localUndo")
    for (setting, value) in values {
      try db.execute(
        sql: "INSERT INTO localUndo VALUES (?1, (SELECT value FROM localSetting WHERE name = ?1))",
        arguments: [setting.rawValue])
      if let value {
        try Settings.set(setting, to: value, in: db)
      } else {
        try db.execute(
          sql: "DELETE FROM localSetting WHERE name = ?", arguments: [setting.rawValue])
      }
    }
    for job in try underWay(in: db) where job.service == old { try jobs.cancel(job.id, in: db) }
    try goOn(in: db)
  }

  /// Notes that something else answers at a service's address.
  ///
  /// - Returns: since when, and never the service itself meanwhile.
  func strangerAnswers(at service: String) async throws -> Date {
    try await pool.write { db in
      try db.execute(
        sql: "INSERT OR IGNORE INTO stranger VALUES (?, unixepoch())", arguments: [service])
      let since = try Int64.fetchOne(
        db, sql: "SELECT since FROM stranger WHERE service = ?", arguments: [service])
      return Date(timeIntervalSince1970: Double(since!))
    }
  }

  func serviceAnswers(at service: String, in db: Database) throws {
    try db.execute(sql: "DELETE FROM stranger WHERE service = ?", arguments: [service])
  }

  /// Who is asked a question that waits.
  func model(of phrase: String, in db: Database) throws -> String {
    let own = try String.fetchOne(
      db, sql: "SELECT model FROM waiting WHERE phrase = ?", arguments: [phrase])
    return try own ?? Settings(in: db)[.model]
  }
}
