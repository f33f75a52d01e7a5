#if Server
import Foundation
import TernCore

/// What a number in a server's file stands for, and what it can be.
///
/// Whatever wrote another one, every number is looked at before anything is computed with it.
enum StoredNumber: String {
  /// Doubles hold them too, as other readers of JSON have them.
  case position
  case sequence
  /// That of an operation; a base has its position, negative.
  case operationSequence = "sequence of an operation"
  /// Milliseconds since 1970.
  case time
  /// The bits of a ``HybridTime``, each of which is one.
  case hybridTime = "hybrid time"
  case parts = "number of parts"
  case part = "part's index"
  case bytes = "number of bytes"
  case share = "percentage"
  /// A ``SpacePhase``.
  case phase
  case flag

  var range: ClosedRange<Int64> {
    switch self {
    case .position: 0...Self.maximumPosition
    case .sequence: 0...Int64(VersionVector.maximumSequence)
    case .operationSequence: -Self.maximumPosition...Int64(VersionVector.maximumSequence)
    case .time: -HybridTime.maximumMilliseconds...HybridTime.maximumMilliseconds
    case .hybridTime: .min ... .max
    case .parts: 1...Int64(Int32.max)
    case .part: 0...Int64(Int32.max)
    case .bytes: 0...Self.maximumPosition
    case .share: 1...100
    case .phase: 0...4
    case .flag: 0...1
    }
  }

  private static let maximumPosition: Int64 = 1 << 53

  /// - Throws: ``NumberOutOfRange``.
  func checked(_ value: Int64, of table: String) throws -> Int64 {
    guard range.contains(value) else {
      throw NumberOutOfRange(table: table, number: self, value: value)
    }
    return value
  }

  /// The sum of a column, in SQL. It is out of range where one of its numbers is, as SQLite would
  /// overflow with an error that names nothing, as it does for a thousand that are at their limit.
  ///
  /// - Parameter condition: of the rows that count.
  func sum(_ column: String, where condition: String? = nil) -> String {
    let (least, most) = (range.lowerBound, range.upperBound)
    let filter = condition.map { " FILTER (WHERE \($0))" } ?? ""
    return """
      coalesce(sum(CASE WHEN \(column) BETWEEN \(least) AND \(most) THEN \(column) ELSE \(most) + 1 END)\(filter), 0)
      """
  }

  /// Every column of numbers of the tables that a space has, but for those that refer to rows.
  static let columns: [(table: String, column: String, number: StoredNumber)] = [
    ("space", "position", .position), ("space", "trimmed", .position),
    ("space", "emptied", .position), ("space", "bytes", .bytes),
    ("space", "quota_bytes", .bytes), ("space", "quota_operations", .position),
    ("space", "quota_authors", .position), ("space", "quota_share", .share),
    ("space", "refill_ms", .time), ("space", "untrimmed_ms", .time),
    ("space", "suspended_ms", .time),
    ("space", "released", .position), ("space", "kept_bytes", .bytes), ("space", "phase", .phase),
    ("snapshot", "dropped_ms", .time),
    ("trim_mark", "position", .position), ("trim_mark", "at_ms", .time),
    ("operation", "position", .position), ("operation", "sequence", .operationSequence),
    ("head", "sequence", .sequence), ("head", "time", .hybridTime), ("head", "continues", .flag),
    ("head", "operations", .position), ("head", "bytes", .bytes),
    ("author", "brought_first", .sequence), ("author", "brought_last", .sequence),
    ("author", "admitted", .sequence), ("author", "banned_after", .sequence),
    ("token", "created_ms", .time), ("token", "expires_ms", .time),
    ("snapshot", "position", .position), ("snapshot", "is_base", .flag),
    ("snapshot", "is_complete", .flag), ("snapshot", "parts", .parts),
    ("snapshot", "bytes", .bytes), ("snapshot", "touched_ms", .time),
    ("snapshot_part", "part", .part),
    ("lease", "position", .position), ("lease", "at_ms", .time),
    ("mark", "position", .position), ("mark", "at_ms", .time),
    ("state", "position", .position), ("state", "at_ms", .time), ("state", "is_disputed", .flag),
  ]
}

/// A number that no server writes; the store adds the space's name.
struct NumberOutOfRange: Error {
  let table: String
  let number: StoredNumber
  let value: Int64

  /// The error of one space, which others don't notice.
  func error(in space: SpaceName) -> StoreError {
    StoreError(
      .damaged,
      "space \(space): the table '\(table)' has a \(number.rawValue) of \(value), which is out of "
        + "range; this space is not served until it is restored, see 'tern doctor'")
  }
}
#endif
