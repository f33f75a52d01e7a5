import Foundation
import GRDB
import TernCore
import TernDatabase

extension Installation {
  /// Refuses what another replica of the same database already syncs, and doubled declarations.
  func checkNames(_ db: Database) throws {
    var seen: Set<String> = []
    for table in schema.tables {
      guard seen.insert(table.name.folded).inserted else {
        throw SchemaError(
          .duplicateTable, table: table.name, "the schema names it twice; keep one of them")
      }
      guard !table.name.folded.hasPrefix(StoreTables.commonPrefix) else {
        throw SchemaError(
          .notATable, table: table.name, "it is one of Tern's own; sync the app's tables")
      }
    }
    var former = seen
    for table in schema.tables {
      for name in table.formerNames where !former.insert(name.folded).inserted {
        throw SchemaError(
          .duplicateTable, table: table.name,
          "it was renamed from “\(name)”, as the schema says, and that is there too, or is what another "
            + "was renamed from; what older peers send of “\(name)” can be of one table alone")
      }
    }
    let others = try String.fetchAll(
      db,
      sql: "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name GLOB ? AND name <> ?",
      arguments: [StoreTables.commonPrefix + "*_table", tables.table])
    for other in others {
      for name in try String.fetchAll(db, sql: "SELECT name FROM \(other.quoted) WHERE is_synced") {
        guard !seen.contains(name.folded) else {
          throw SchemaError(
            .otherReplica, table: name,
            "another replica of this database syncs it; one table "
              + "belongs to one replica")
        }
        try checkReferences(from: [name], to: seen, db)
        try checkReferences(from: schema.tables.map(\.name), to: [name.folded], db)
      }
    }
  }

  /// A merge of one replica lets nobody know in the other that a parent went.
  private func checkReferences(from children: [String], to parents: Set<String>, _ db: Database)
    throws
  {
    for child in children {
      for key in try DeclaredForeignKey.all(of: child, db) where parents.contains(key.parent.folded)
      {
        throw SchemaError(
          .otherReplica, table: child,
          "it refers to “\(key.parent)”, and they belong to two replicas of this database; sync both "
            + "in one, or drop the reference")
      }
    }
  }

  /// Refuses a reference of another type than what it refers to. As a row is deleted, SQLite looks
  /// for its children by an index with what their column would hold, in place of the row's own
  /// value: the triggers are told that a row 2 went, where that was '02'.
  func checkReferenceTypes(_ db: Database, _ refusals: inout SchemaRefusals) throws {
    let parents = Set(schema.tables.map(\.name.folded))
    for child in try DeclaredForeignKey.tables(db) {
      for key in try DeclaredForeignKey.all(of: child, db) where parents.contains(key.parent.folded)
      {
        guard let parentColumns = try key.parentColumns(db) else { continue }
        let (types, parentTypes) = (try types(of: child, db), try types(of: key.parent, db))
        for (column, parentColumn) in zip(key.columns, parentColumns) {
          let (own, other) = (types[column.folded]!, parentTypes[parentColumn.folded]!)
          if own.affinity.keepsValues(of: other.affinity) { continue }
          // ANY keeps what it is given in a STRICT table, and makes numbers of texts elsewhere.
          let isAny = own.type.folded == other.type.folded
          try refusals.collect {
            throw SchemaError(
              .unsupportedReference, table: child, column: column,
              "it refers to \(key.parent).\(parentColumn), which is declared “\(other.type)”, and "
                + "is declared “\(own.type)”\(isAny ? " in a table that is not STRICT" : ""): SQLite "
                + "converts the key of a row that is deleted before Tern is told of it; "
                + (isAny ? "make the table STRICT" : "declare it “\(other.type)” too")
                + ", or declare it without a type")
          }
        }
      }
    }
  }

  /// By folded name.
  private func types(of table: String, _ db: Database) throws
    -> [String: (type: String, affinity: Affinity)]
  {
    let columns = try TableInspection(db: db, declared: SyncTable(table)).columns()
    return Dictionary(
      columns.map { ($0.name.folded, ($0.type, $0.affinity)) }, uniquingKeysWith: { $1 })
  }

  /// Puts the replica's own tables in place, in today's format.
  func createTables(_ db: Database) throws {
    var format: Int?
    if try db.tableExists(tables.replica, in: "main") {
      format = try Int.fetchOne(db, sql: "SELECT format FROM \(tables.replica)")
    }
    if let format { try check(format) }
    try create(tables.creation, db)
    if let format, format < StoreTables.format { try tables.upgrade(db, from: format) }
  }

  private func check(_ format: Int) throws {
    guard format <= StoreTables.format else {
      throw ReplicaError.newerFormat(format)
    }
    guard format >= StoreTables.oldestFormat else {
      throw ReplicaError(
        .olderFormat,
        "the replica was made by a Tern before its first release (format \(format)); sync it with "
          + "that one, then drop the tables that begin with \(tables.prefix)")
    }
  }

  /// Draws an id on the first open, and after the app erased its database.
  func createReplica(_ db: Database) throws {
    let version = Int64(schema.version)
    if let known = try Int64.fetchOne(db, sql: "SELECT schema_version FROM \(tables.replica)") {
      if known != version {
        try db.execute(
          sql: "UPDATE \(tables.replica) SET schema_version = ?", arguments: [version])
      }
      return
    }
    let id = Data(makeID().bytes)
    try db.execute(
      sql: "INSERT INTO \(tables.replica) VALUES (1, ?, ?, 0, ?, 0)",
      arguments: [StoreTables.format, id, version])
    try db.execute(
      sql: "INSERT INTO \(tables.author) (idx, id, stored, merged, announced, time) "
        + "VALUES (0, ?, 0, 0, 0, 0)", arguments: [id])
  }
}
