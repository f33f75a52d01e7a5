/// Something that a look through a database file found.
public struct DatabaseFinding: Hashable, Sendable, Codable {
  public enum Grade: String, Hashable, Sendable, Codable {
    /// The file breaks a promise: somebody has to do something.
    case finding
    /// It waits, and says for what. Nothing is broken.
    case remark
  }

  public var grade: Grade
  /// What was looked at; stable, for programs.
  public var check: String
  /// The promise that it is about; in JSON its id, `INV-01` to `INV-12`.
  package var invariant: Invariant
  package var place: Place
  /// In a sentence, without the app's values; a key can stand in ``place``.
  public var what: String
  /// What to do about it, in the imperative.
  public var remedy: String

  /// Where it is; `nil` for what does not apply.
  package struct Place: Hashable, Sendable, Codable {
    /// The replica's name in this database.
    package var replica: String?
    /// Of a server.
    package var space: String?
    package var table: String?
    /// As SQL writes its values, separated by commas.
    package var key: String?
    package var column: String?
    /// Of an operation.
    package var author: ReplicaID?
    package var sequence: UInt64?
    /// Of a remote, a job, a file, a place in a space or a snapshot: what it is known by.
    package var name: String?

    package init(
      replica: String? = nil, space: String? = nil, table: String? = nil, key: String? = nil,
      column: String? = nil, author: ReplicaID? = nil, sequence: UInt64? = nil, name: String? = nil
    ) {
      (self.replica, self.space) = (replica, space)
      (self.table, self.key, self.column) = (table, key, column)
      (self.author, self.sequence, self.name) = (author, sequence, name)
    }
  }

  package init(_ check: DiagnosisCheck, _ what: String, at place: Place) {
    grade = check.isRemark ? .remark : .finding
    self.check = check.rawValue
    invariant = check.invariant
    self.place = place
    self.what = what
    remedy = check.remedy
  }
}

extension DatabaseFinding.Place: CustomStringConvertible {
  public var description: String {
    let parts = [
      replica.map { "replica \($0)" }, space.map { "space \($0)" },
      table.map { "table \($0)" }, key.map { "key \($0)" }, column.map { "column \($0)" },
      author.map { "author \($0)" }, sequence.map { "operation \($0)" }, name,
    ]
    return parts.compactMap { $0 }.joined(separator: ", ")
  }
}

extension DatabaseFinding: CustomStringConvertible {
  public var description: String {
    let place = place.description
    return "\(invariant) \(check): \(what)" + (place.isEmpty ? "" : " (\(place))") + "; \(remedy)"
  }
}

/// Passes findings on as they come, so many of each kind, and counts all.
package final class Findings {
  package private(set) var counts: [DiagnosisCheck: Int] = [:]
  private let limit: Int
  private let tell: (DatabaseFinding) throws -> Void
  /// Stands in every place that names none.
  package var replica: String?
  /// Likewise.
  package var space: String?

  /// - Parameter limit: how many of one check are told, at least one.
  package init(limit: Int, _ tell: @escaping (DatabaseFinding) throws -> Void) {
    // Who is told of none would hold the file for sound.
    self.limit = max(limit, 1)
    self.tell = tell
  }

  package func add(
    _ check: DiagnosisCheck, _ what: String, at place: DatabaseFinding.Place = .init()
  ) throws {
    counts[check, default: 0] += 1
    guard counts[check]! <= limit else { return }
    var place = place
    place.replica = place.replica ?? replica
    place.space = place.space ?? space
    try tell(DatabaseFinding(check, what, at: place))
  }
}
