import Foundation
import GRDB
import TernCore
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
  /// Blocks: not on the main actor. Cost: about two passes over the file, and a merge of the log
  /// where that is whole. In memory are one row, one operation and the answer; meanwhile a
  /// write-ahead log cannot begin anew.
  ///
  /// - Parameters:
  ///   - files: the folder of the jobs' files, where the queue was opened with another
  ///     than its own.
  ///   - limit: how many of each check to name, at least one; the others are counted.
  /// - Throws: ``InspectionError``.
  public init(path: String, files: URL? = nil, limit: Int = 100) throws {
    try self.init(path: path, files: files, limit: limit) { _ in nil }
  }

  /// Looks at a file of another kind too, where `other` knows it.
  package init(path: String, files: URL? = nil, limit: Int = 100, other: OtherKind) throws {
    try self.init(path) {
      try Self.run(path: path, files: files, limit: limit, other: other, $0)
    }
  }

  /// Looks through an open database, without the files beside it: inside the caller's read.
  package init(_ db: Database, limit: Int = 100, other: OtherKind = { _ in nil }) throws {
    try self.init(db.filename) { tell in
      let findings = Findings(limit: limit, tell)
      try Doctor(db, findings).run(path: nil, files: nil, other: other)
      return findings.countsByName
    }
  }

  /// What a look finds that goes through no file.
  ///
  /// - Parameter name: what was looked through.
  package init(of name: String, limit: Int = 100, _ look: (Findings) throws -> Void) throws {
    try self.init(name) { tell in try Self.run(limit: limit, look, tell) }
  }

  private init(
    _ path: String, _ look: (@escaping (DatabaseFinding) throws -> Void) throws -> [String: Int]
  ) throws {
    self.path = path
    var (broken, waiting): ([DatabaseFinding], [DatabaseFinding]) = ([], [])
    counts = try look { finding in
      if finding.grade == .finding { broken.append(finding) } else { waiting.append(finding) }
    }
    (findings, remarks) = (broken, waiting)
  }

  /// Tells findings and remarks as they are found. Blocks: not on the main actor.
  ///
  /// - Parameter tell: what it throws ends the look.
  /// - Returns: by check how many there are in all.
  /// - Throws: ``InspectionError``, also for what `tell` throws.
  @discardableResult
  public static func run(
    path: String, files: URL? = nil, limit: Int = 100,
    _ tell: @escaping (DatabaseFinding) throws -> Void
  ) throws -> [String: Int] {
    try run(path: path, files: files, limit: limit, other: { _ in nil }, tell)
  }

  @discardableResult
  package static func run(
    path: String, files: URL?, limit: Int, other: OtherKind,
    _ tell: @escaping (DatabaseFinding) throws -> Void
  ) throws -> [String: Int] {
    let findings = Findings(limit: limit, tell)
    let file = ReadOnlyFile(path: path)
    try file.read { db in
      try Doctor(db, findings).run(path: file.path, files: files, other: other)
    }
    return findings.countsByName
  }

  /// Tells what a look finds that goes through no file.
  @discardableResult
  package static func run(
    limit: Int, _ look: (Findings) throws -> Void,
    _ tell: @escaping (DatabaseFinding) throws -> Void
  ) throws -> [String: Int] {
    let findings = Findings(limit: limit, tell)
    try look(findings)
    return findings.countsByName
  }

  /// What looks at a database of a kind that is not this module's, behind SQLite's own checks;
  /// `nil` for one that it does not know.
  package typealias OtherKind = (Database) throws -> ((Findings) throws -> Void)?
}

extension Findings {
  fileprivate var countsByName: [String: Int] {
    Dictionary(uniqueKeysWithValues: counts.map { ($0.rawValue, $1) })
  }
}
