import GRDB
import Tern
import TestDevice

/// Another device, in memory, whose pages an app merges.
extension Device {
  init(_ id: UInt64, schema: SyncSchema = Catalogue.schema, tables: [String] = Catalogue.creation)
    throws
  {
    try self.init(schema, id: id) { db in
      for table in tables { try db.execute(sql: table) }
    }
  }

  /// Writes each statement as an operation of its own.
  func write(_ statements: String...) throws {
    for sql in statements {
      try store.write { try $0.execute(sql: sql) }
    }
  }

  /// What `other` lacks of this device, cursor included.
  func page(after heads: VersionVector, cursor: String) throws -> Page {
    Page(
      page: PulledPage(
        operations: try store.operations(lackedBy: heads, maximumBytes: .max),
        cursor: RemoteCursor(rawValue: cursor), hasMore: false, now: nil))
  }

  func heads() throws -> VersionVector { try store.versionVector() }
}

/// Operations on their way to an app.
struct Page: Sendable {
  let page: PulledPage

  func merge(into app: App) throws {
    _ = try app.store.merge(
      page, from: RemotePlace(remoteID: "peer", epoch: "e", cursor: page.cursor))
  }
}
