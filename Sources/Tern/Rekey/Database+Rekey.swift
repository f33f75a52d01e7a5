import GRDB
import TernDatabase

extension Database {
  /// Gives a table with an integer key the key that syncing needs, a UUID, and rewrites every
  /// column that refers to it. For a migration, before the table is in a ``SyncSchema``.
  ///
  /// ```swift
  /// migrator.registerMigration("books can sync") { db in
  ///   try db.rekeyForSync("author", identifiers: .derived(from: ["name"]))
  ///   try db.rekeyForSync("book", references: [RekeyedColumn("visit", "bookID")])
  /// }
  /// ```
  ///
  /// The key column keeps its name and place and becomes `TEXT NOT NULL` (or `BLOB`). A table that
  /// has none, only its rowid, gets a column at its end. Every column with a declared foreign key
  /// to the key follows, in any number of tables, in the table itself, inside composite keys and,
  /// through them, in tables that refer to those. All of these tables are built again under their
  /// names, with their columns in the same order, types, defaults, constraints, collations,
  /// generated columns, indexes, triggers and options as they were declared. Rows keep their
  /// rowids. No trigger fires and no foreign key acts.
  ///
  /// It happens in a savepoint of the caller's transaction: whole, or not at all. Foreign keys may
  /// be on, off or deferred, and are checked at the end. The time grows with the rows of the tables
  /// that are built again, and they are in the file twice until the commit.
  ///
  /// - Parameters:
  ///   - identifiers: where the keys come from. Random ones suit rows that each device made by
  ///     itself; rows that several devices hold already, e.g. from a bundled database, need derived
  ///     ones, or everybody has them once per device.
  ///   - storage: how a key is stored; as the app's records read and write it.
  ///   - addedKey: the column that a table without a declared key gets.
  ///   - references: columns that hold keys of the table without a declared foreign key. What is
  ///     not named here keeps its number.
  /// - Returns: what was rewritten.
  /// - Throws: ``RekeyError``, and `DatabaseError`; either way nothing has changed.
  @discardableResult
  public func rekeyForSync(
    _ table: String, identifiers: RekeyIdentifiers = .random,
    storage: RekeyStorage = .uppercaseText, addedKey: String = "id",
    references: [RekeyedColumn] = []
  ) throws -> RekeyReport {
    var report = RekeyReport(rows: 0, columns: [])
    try inSavepoint {
      let plan = try RekeyPlan(
        self, table: table, addedKey: addedKey, storage: storage, references: references)
      try withoutForeignKeys {
        try withLegacyRename { report = try RekeyPass(self, plan, identifiers).run() }
      }
      return .commit
    }
    return report
  }

  /// Runs `body` with renaming that leaves views, triggers and references of other tables alone:
  /// they go on naming the table that is built in the place of the renamed one.
  ///
  /// - Source: <https://www.sqlite.org/pragma.html#pragma_legacy_alter_table>
  private func withLegacyRename(_ body: () throws -> Void) throws {
    let isLegacy = try Bool.fetchOne(self, sql: "PRAGMA legacy_alter_table") ?? false
    try execute(sql: "PRAGMA legacy_alter_table = ON")
    let result = Result { try body() }
    try execute(sql: "PRAGMA legacy_alter_table = \(isLegacy ? "ON" : "OFF")")
    try result.get()
  }
}

/// What a re-keying did.
public struct RekeyReport: Hashable, Sendable {
  /// How many rows have a new key.
  public var rows: Int
  /// The columns that hold identifiers now, the key itself first.
  public var columns: [RekeyedColumn]
}

/// A column that holds keys of a re-keyed table.
public struct RekeyedColumn: Hashable, Sendable {
  public var table: String
  public var column: String

  public init(_ table: String, _ column: String) {
    self.table = table
    self.column = column
  }
}

/// How an identifier is stored in a key and in what refers to it.
public struct RekeyStorage: Hashable, Sendable {
  enum Kind: Hashable { case uppercase, lowercase, blob }
  let kind: Kind

  /// Text as `UUID.uuidString` writes it; GRDB's `.uppercaseString`.
  public static let uppercaseText = RekeyStorage(kind: .uppercase)
  /// GRDB's `.lowercaseString`.
  public static let lowercaseText = RekeyStorage(kind: .lowercase)
  /// 16 bytes: how GRDB stores a `UUID` unless told.
  public static let blob = RekeyStorage(kind: .blob)
}
