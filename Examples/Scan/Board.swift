import ExampleService
import Foundation
import GRDB
import Tern
import TernJobs

/// What became of the photos, as a person reads it.
struct Board: Sendable {
  struct Scan: Codable, FetchableRecord, Sendable {
    var id: Int64
    var name: String
    var standing: Standing
    var timesLost, warnings, books: Int
    /// What there is to say. Between two attempts the reason for the wait is news, and not how far the
    /// last one came. The job's, as is what follows: of those done long ago none is left.
    var news, since: String?
    var progress: Double?
  }

  /// Where a photo stands. Nothing is on its way while its job does not run.
  enum Standing: String, Codable, Sendable {
    case waiting, uploading, analysing, done, failed
  }

  /// How many scans the service takes today, and until when that is so.
  struct Quota: Codable, FetchableRecord, Sendable {
    var left: String
    var endsMilliseconds: Int64
  }

  let scans: [Scan]
  /// Clean-ups that leave something at the service, each with its reason.
  private let cleanUps: [String?]
  let gates: [JobGate]
  let quota: Quota?
  /// Whether something waits because nobody could be reached.
  let isOffline: Bool

  /// - Parameter end: photos that were done before are left out; those that are not done never are.
  init(_ jobs: JobQueue, doneSince end: Date = .distantPast, in db: Database) throws {
    scans = try Scan.fetchAll(
      db,
      sql: """
        SELECT scan.id, name, timesLost, warnings, count(isbn) AS books, since,
          CASE WHEN state IN ('failed', 'parked') THEN 'failed'
            WHEN coalesce(state, 'done') = 'done' THEN 'done'
            WHEN state = 'running' AND phase = 'uploading' THEN 'uploading'
            WHEN phase = 'analysing' THEN 'analysing' ELSE 'waiting' END AS standing,
          CASE state WHEN 'running' THEN message WHEN 'done' THEN NULL
            ELSE coalesce(reason, message) END AS news,
          CASE state WHEN 'running' THEN progress END AS progress
        FROM scan LEFT JOIN find ON find.scan = scan.id
          LEFT JOIN grdb_tern_jobs AS job ON job.id = scan.id
        WHERE :end IS NULL OR state != 'done' OR since > :end
        GROUP BY scan.id ORDER BY scan.id
        """, arguments: ["end": end == .distantPast ? nil : end.ISO8601Format()])
    let records = try jobs.records(in: db)
    cleanUps = records.filter { $0.kind == CleanUp.kind && $0.state.isStuck }.map(\.reason)
    isOffline = records.contains { $0.state == .waiting && $0.unreached > 0 }
    gates = try jobs.gates(in: db)
    // Yesterday's says nothing of today.
    quota = try Quota.fetchOne(
      db,
      sql: """
        SELECT quota AS left, quotaEnds * 1000 AS endsMilliseconds FROM device
        WHERE quota IS NOT NULL AND quotaEnds > ?
        """, arguments: [Date().timeIntervalSince1970])
  }

  private static let colours: [Standing: Int] = [
    .waiting: 90, .uploading: 33, .analysing: 34, .done: 32, .failed: 31,
  ]

  func lines() -> [String] {
    let inColour = isatty(1) == 1
    func line(_ word: String, _ colour: Int, _ rest: String?...) -> String {
      ([inColour ? "\u{1B}[\(colour)m\(word)\u{1B}[0m" : word] + rest.compactMap { $0?.shown() })
        .joined(separator: "\t")
    }
    var lines = scans.map { scan in
      let news = scan.standing == .failed ? failure(scan.news) : scan.shownNews
      let colour = Self.colours[scan.standing] ?? 0
      return line(scan.standing.rawValue, colour, scan.name, scan.counts, news)
    }
    lines += cleanUps.map { line("failed", 31, "a clean-up at the service", failure($0)) }
    for gate in gates {
      let seconds = Int(gate.reopensAt.timeIntervalSinceNow.rounded(.up))
      if seconds > 0 { lines.append("the \(gate.service) wants no requests for \(seconds) s") }
    }
    if let quota { lines.append("left today: \(quota.left.shown()) scans") }
    return lines
  }

  private func failure(_ reason: String?) -> String {
    (reason ?? "no reason was kept") + "; `scan retry` tries again"
  }
}

extension Board.Scan {
  fileprivate var shownNews: String? {
    guard let progress else { return news }
    let full = Int((progress * 20).rounded())
    let bar = String(repeating: "█", count: full) + String(repeating: "░", count: 20 - full)
    return bar + " " + (news ?? "")
  }

  fileprivate var counts: String {
    var text = "\(books) books"
    if timesLost > 0 { text += ", \(timesLost) answers lost" }
    if warnings > 0 { text += ", \(warnings) incomplete" }
    return text
  }
}
