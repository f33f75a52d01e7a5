import ExampleService
import Foundation
import GRDB
import Tern
import TernJobs

/// What became of the photos, as a person reads it.
struct Board: Sendable {
  private struct Scan: Decodable, FetchableRecord, Sendable {
    var name, phase: String
    var timesLost, warnings, books: Int
    /// The job's, as is what follows. Of those that were done long ago none is left.
    var state, message, reason: String?
    var progress: Double?
  }

  private let scans: [Scan]
  /// Clean-ups that leave something at the service, each with its reason.
  private let cleanUps: [String?]
  private let gates: [JobGate]
  private let quota: String?

  init(_ jobs: JobQueue, in db: Database) throws {
    scans = try Scan.fetchAll(
      db,
      sql: """
        SELECT scan.*, count(isbn) AS books, state, progress, message, reason
        FROM scan LEFT JOIN find ON find.scan = scan.id
          LEFT JOIN grdb_tern_jobs AS job ON job.id = scan.id
        GROUP BY scan.id ORDER BY scan.id
        """)
    cleanUps = try jobs.records(in: db)
      .filter { $0.kind == CleanUp.kind && $0.state.isStuck }.map(\.reason)
    gates = try jobs.gates(in: db)
    // Yesterday's says nothing of today.
    quota = try String.fetchOne(
      db, sql: "SELECT quota FROM device WHERE quotaEnds > ?",
      arguments: [Date().timeIntervalSince1970])
  }

  func lines() -> [String] {
    let inColour = isatty(1) == 1
    func line(_ word: String, _ colour: Int, _ rest: String?...) -> String {
      ([inColour ? "\u{1B}[\(colour)m\(word)\u{1B}[0m" : word] + rest.compactMap { $0?.shown() })
        .joined(separator: "\t")
    }
    var lines = scans.map { scan in
      let (word, colour, text) = standing(scan)
      return line(word, colour, scan.name, counts(scan), text)
    }
    lines += cleanUps.map { line("failed", 31, "a clean-up at the service", failure($0)) }
    for gate in gates {
      let seconds = Int(gate.reopensAt.timeIntervalSinceNow.rounded(.up))
      if seconds > 0 { lines.append("the \(gate.service) wants no requests for \(seconds) s") }
    }
    if let quota { lines.append("left today: \(quota.shown()) scans") }
    return lines
  }

  private func counts(_ scan: Scan) -> String {
    var text = "\(scan.books) books"
    if scan.timesLost > 0 { text += ", \(scan.timesLost) answers lost" }
    if scan.warnings > 0 { text += ", \(scan.warnings) incomplete" }
    return text
  }

  /// Where a scan stands: a word, its colour, and what there is to say.
  private func standing(_ scan: Scan) -> (String, Int, String?) {
    // Between two attempts the reason for the wait is news, and not how far the last one came.
    let news = scan.state == "running" ? progress(scan) : scan.reason ?? scan.message
    return switch (scan.state, scan.phase) {
    case ("failed", _), ("parked", _): ("failed", 31, failure(scan.reason))
    case ("done", _), (nil, _): ("done", 32, nil)
    // Nor is anything on its way then.
    case ("running", "uploading"): ("uploading", 33, news)
    case (_, "analysing"): ("analysing", 34, news)
    default: ("waiting", 90, news)
    }
  }

  private func failure(_ reason: String?) -> String {
    (reason ?? "no reason was kept") + "; `scan retry` tries again"
  }

  private func progress(_ scan: Scan) -> String? {
    guard let progress = scan.progress else { return scan.message }
    let full = Int((progress * 20).rounded())
    let bar = String(repeating: "█", count: full) + String(repeating: "░", count: 20 - full)
    return bar + " " + (scan.message ?? "")
  }
}
