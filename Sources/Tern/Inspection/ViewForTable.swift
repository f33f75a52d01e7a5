import GRDB

/// A view that stands where Tern makes a table.
package struct ViewForTable: Error, CustomStringConvertible {
  package let name: String

  package var description: String { "\"\(name)\" is a view, where Tern makes a table" }

  /// Refuses a file with a view whose name begins with `prefix`, before anything of it is read.
  ///
  /// - Throws: ``InspectionError`` with `view-for-table`, which names it.
  package static func refuse(in db: Database, prefix: String, path: String) throws {
    let name = try String.fetchOne(
      db,
      sql: """
        SELECT name FROM sqlite_master
        WHERE type = 'view' AND substr(lower(name), 1, length(?1)) = ?1 ORDER BY name LIMIT 1
        """, arguments: [prefix])
    guard let name else { return }
    throw InspectionError(.viewForTable, path: path, underlyingError: Self(name: name))
  }
}
