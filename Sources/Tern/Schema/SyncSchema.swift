import GRDB

/// Which tables of a database are replicas, and how their columns merge.
///
/// ```swift
/// extension SyncSchema {
///   static let library = SyncSchema(version: 1, tables: [
///     SyncTable("book", merge: ["timesScanned": .counter, "confidence": .max])
///   ])
/// }
/// ```
public struct SyncSchema: Hashable, Sendable {
  /// Travels with every operation, so that peers can tell which schema wrote it. Raise it with
  /// every release that changes a synced table.
  public var version: UInt32
  public var tables: [SyncTable]

  public init(version: UInt32, tables: [SyncTable]) {
    self.version = version
    self.tables = tables
  }
}

/// One table that syncs. Columns that are not named here merge by ``MergeRule/lastWriter``;
/// generated columns never travel.
public struct SyncTable: Hashable, Sendable {
  public var name: String
  /// How columns merge, by their names.
  public var merge: [String: MergeRule]
  /// Whether a row stays deleted that another device changed meanwhile.
  public var deletes: DeleteRule
  /// Columns that stay on this device. Each must be nullable or have a default.
  public var local: Set<String>
  /// What becomes of a row that collides in a UNIQUE index with one that was created earlier.
  public var collisions: CollisionRule
  /// Columns that nobody writes by hand, such as `updated_at`: no inbox entry is made where only
  /// they lost.
  public var automatic: Set<String>
  /// What becomes of rows of tables that don't sync, when a merge deleted the row of this one to
  /// which they refer by `NO ACTION` or `RESTRICT`. With `.restrict` they stay. With `nil` they do
  /// too, and ``ReplicaCounts/openReferences`` names the foreign key. One that declares another
  /// action is carried out whatever stands here.
  public var unsyncedChildren: Database.ForeignKeyAction?
  /// Columns that a migration renamed, those of the key too: by the name of today, the one before
  /// it.
  ///
  /// Keep an entry for as long as peers may be on the older schema, and for a column that was
  /// renamed twice keep both. Without an entry a renamed column is a dropped one and a new one.
  public var formerColumnNames: [String: String]
  /// Names that migrations took from the table.
  ///
  /// Keep each for as long as peers may be on a schema that has it. Without them a renamed table is
  /// refused as ``SchemaError/Code/renamedTable``.
  public var formerNames: [String]

  public init(
    _ name: String, merge: [String: MergeRule] = [:], deletes: DeleteRule = .deleteWins,
    local: Set<String> = [], collisions: CollisionRule = .quarantine,
    automatic: Set<String> = [], unsyncedChildren: Database.ForeignKeyAction? = nil,
    formerColumnNames: [String: String] = [:], formerNames: [String] = []
  ) {
    self.name = name
    self.merge = merge
    self.deletes = deletes
    self.local = local
    self.collisions = collisions
    self.automatic = automatic
    self.unsyncedChildren = unsyncedChildren
    self.formerColumnNames = formerColumnNames
    self.formerNames = formerNames
  }

  /// The names that a column had before, the latest first.
  package func formerNames(of column: String) -> [String] {
    let earlier = Dictionary(
      formerColumnNames.map { ($0.key.folded, $0.value) }, uniquingKeysWith: { left, _ in left })
    var names: [String] = []
    var name = column
    while let former = earlier[name.folded], names.count < formerColumnNames.count {
      names.append(former)
      name = former
    }
    return names
  }
}
