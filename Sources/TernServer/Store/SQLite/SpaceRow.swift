#if Server
import Foundation
import GRDB
import TernCore

/// A space's head row.
struct SpaceRow {
  let id: Int64
  let position: UInt64
  let trimmed: UInt64
  let suspended: Date?
  let standing: SpaceStanding

  /// - Parameter epoch: the store's.
  static func fetch(_ db: Database, name: SpaceName, _ epoch: String) throws -> SpaceRow? {
    let statement = try db.cachedStatement(
      sql: """
        SELECT id, position, trimmed, suspended_ms, \(SpacePhase.columns) FROM space
        WHERE name = ?
        """)
    return try Row.fetchOne(statement, arguments: [name.text]).map {
      let phase = try $0.number(5, .phase, of: "space")
      return SpaceRow(
        id: $0[0], position: try $0.position(1, of: "space"),
        trimmed: try $0.position(2, of: "space"),
        suspended: $0.hasNull(atIndex: 3) ? nil : try $0.time(3, of: "space"),
        standing: SpaceStanding(
          epoch: $0[4] ?? epoch, phase: SpacePhase(rawValue: Int(phase))!, peer: $0[6]))
    }
  }
}

extension ChainDigest {
  /// The chain up to a position; `nil` at 0 and beyond the head.
  static func fetch(_ db: Database, space id: Int64, at position: UInt64) throws -> ChainDigest? {
    guard let position = Int64(exactly: position) else { return nil }
    let statement = try db.cachedStatement(
      sql: "SELECT chain FROM operation WHERE space = ? AND position = ?")
    return try Data.fetchOne(statement, arguments: [id, position])
      .map { ChainDigest(stored: Array($0)) }
  }
}
#endif
