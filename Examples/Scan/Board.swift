import Foundation
import GRDB
import Tern

/// What became of the photos, as a person reads it.
struct Board: Sendable {
  private struct Scan: Decodable, FetchableRecord {
    var id: String
    var name: String
    var job: Int64
    var phase: String
    var timesLost: Int
    var warnings: Int
  }

  private struct Entry {
    var scan: Scan
    var job: JobRecord?
    var books: Int
  }

  private let entries: [Entry]
  private let gates: [JobGate]
  private let quota: String?

  init(_ jobs: JobQueue, in db: Database) throws {
    let records = Dictionary(uniqueKeysWithValues: try jobs.records(in: db).map { ($0.id, $0) })
    entries = try Scan.fetchAll(db, sql: "SELECT * FROM scan ORDER BY rowid").map { scan in
      Entry(
        scan: scan, job: records[JobID(rawValue: scan.job)],
        books: try Int.fetchOne(
          db, sql: "SELECT count(*) FROM find WHERE scan = ?", arguments: [scan.id]) ?? 0)
    }
    gates = try jobs.gates(in: db)
    quota = try Setting.quota.value(in: db)
  }

  func lines(inColour: Bool) -> [String] {
    var lines = entries.map { line($0, inColour) }
    for gate in gates {
      let seconds = Int(gate.reopensAt.timeIntervalSinceNow.rounded(.up))
      guard seconds > 0 else { continue }
      lines.append("the \(gate.service) wants no requests for \(seconds) s")
    }
    if let quota { lines.append("left today: \(quota) scans") }
    return lines
  }

  private func line(_ entry: Entry, _ inColour: Bool) -> String {
    let (word, colour) = state(entry)
    let shown = inColour ? "\u{1B}[\(colour)m\(word)\u{1B}[0m" : word
    var line = "\(shown)\t\(entry.scan.name)\t\(entry.books) books"
    if entry.scan.timesLost > 0 { line += ", \(entry.scan.timesLost) answers lost" }
    if entry.scan.warnings > 0 { line += ", \(entry.scan.warnings) incomplete" }
    if let text = words(entry) { line += "\t" + text }
    return line
  }

  private func state(_ entry: Entry) -> (String, Int) {
    if entry.job?.isStuck == true { return ("failed", 31) }
    return switch entry.scan.phase {
    // Between two attempts nothing is on its way.
    case "uploading" where entry.job?.state == .running: ("uploading", 33)
    case "analysing": ("analysing", 34)
    case "done": ("done", 32)
    default: ("waiting", 90)
    }
  }

  private func words(_ entry: Entry) -> String? {
    guard entry.scan.phase != "done", let job = entry.job else { return nil }
    if job.isStuck {
      return (job.reason ?? "no reason was kept") + "; `scan retry` tries again"
    }
    // Between two attempts the reason for the wait is news, and not how far the last one came.
    guard job.state == .running else { return job.reason ?? job.message }
    if let progress = job.progress {
      let full = Int((progress * 20).rounded())
      let bar = String(repeating: "█", count: full) + String(repeating: "░", count: 20 - full)
      return bar + " " + (job.message ?? "")
    }
    return job.message
  }
}

extension JobRecord {
  /// Nothing more happens to it by itself.
  var isStuck: Bool { state == .failed || state == .parked }
}
