import Foundation
import GRDB
import TernDatabase

/// What a look through a whole database file found: everything of `Docs/Invariants.md` that a file
/// can show, for its replicas and its queue of jobs.
///
/// ```swift
/// let diagnosis = try DatabaseDiagnosis(path: database.path)
/// for finding in diagnosis.findings { print(finding) }
/// ```
///
/// `tern doctor FILE` prints the same.
public struct DatabaseDiagnosis: Hashable, Sendable, Codable {
  public var path: String
  /// What is broken, the first ones of each check.
  public var findings: [DatabaseFinding] = []
  /// What waits, and for what, the first ones of each check.
  public var remarks: [DatabaseFinding] = []
  /// By ``DatabaseFinding/check`` how many there are in all.
  public var counts: [String: Int] = [:]

  /// Whether nothing is broken.
  public var isHealthy: Bool { findings.isEmpty }

  /// Reads a file that other processes may be writing to, as of one moment, and changes nothing.
  ///
  /// Cost: about two passes over the file. In memory are one row, one operation and the answer;
  /// meanwhile a write-ahead log cannot begin anew.
  ///
  /// - Parameters:
  ///   - files: the folder of the jobs' files, where the queue was opened with another than its own.
  ///   - limit: how many of each check to name; the others are counted.
  /// - Throws: ``InspectionError``.
  public init(path: String, files: URL? = nil, limit: Int = 100) throws {
    self.path = path
    var (findings, remarks): ([DatabaseFinding], [DatabaseFinding]) = ([], [])
    counts = try Self.run(path: path, files: files, limit: limit) { finding in
      if finding.grade == .finding { findings.append(finding) } else { remarks.append(finding) }
    }
    (self.findings, self.remarks) = (findings, remarks)
  }

  /// Tells findings and remarks as they are found.
  ///
  /// - Parameter tell: what it throws ends the look.
  /// - Returns: by check how many there are in all.
  /// - Throws: ``InspectionError``, also for what `tell` throws.
  @discardableResult
  public static func run(
    path: String, files: URL? = nil, limit: Int = 100,
    _ tell: @escaping (DatabaseFinding) throws -> Void
  ) throws -> [String: Int] {
    let findings = Findings(limit: limit, tell)
    try ReadOnlyFile(path: path).read { db in
      try Doctor(db, findings).run(path: path, files: files)
    }
    return findings.countsByName
  }

  /// Looks through an open database, without the files beside it: inside the caller's read.
  package init(_ db: Database, limit: Int = 100) throws {
    path = db.filename
    var (broken, waiting): ([DatabaseFinding], [DatabaseFinding]) = ([], [])
    let findings = Findings(limit: limit) { finding in
      if finding.grade == .finding { broken.append(finding) } else { waiting.append(finding) }
    }
    try Doctor(db, findings).run(path: nil, files: nil)
    (self.findings, remarks, counts) = (broken, waiting, findings.countsByName)
  }
}

extension Findings {
  fileprivate var countsByName: [String: Int] {
    Dictionary(uniqueKeysWithValues: counts.map { ($0.rawValue, $1) })
  }
}
