#if Server
import Foundation
import GRDB
import TernCore

/// A space's head row.
struct SpaceRow {
  let id: Int64
  let position: UInt64

  static func fetch(_ db: Database, name: SpaceName) throws -> SpaceRow? {
    let statement = try db.cachedStatement(sql: "SELECT id, position FROM space WHERE name = ?")
    return try Row.fetchOne(statement, arguments: [name.text]).map {
      SpaceRow(id: $0[0], position: UInt64($0[1] as Int64))
    }
  }
}

extension ReplicaID {
  init(stored data: Data) throws {
    guard let replica = ReplicaID(bytes: data) else {
      throw StoreError(.damaged, "the data file has a replica id of \(data.count) bytes")
    }
    self = replica
  }

  var data: Data { Data(bytes) }
}
#endif
