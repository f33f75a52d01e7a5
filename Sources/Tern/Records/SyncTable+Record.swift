import GRDB
import TernCore

extension SyncTable {
  /// The table of a record type. A column that its `Columns` don't have does not compile.
  ///
  /// ```swift
  /// struct Book: Codable, FetchableRecord, PersistableRecord {
  ///   enum Columns {
  ///     static let timesScanned = Column(CodingKeys.timesScanned)
  ///     static let isOpen = Column(CodingKeys.isOpen)
  ///   }
  ///   var isbn: String
  ///   var timesScanned: Int
  ///   var isOpen: Bool?
  /// }
  /// let books = SyncTable(
  ///   Book.self, merge: [Book.Columns.timesScanned: .counter], local: [Book.Columns.isOpen])
  /// ```
  ///
  /// - Parameters: as those of the table's name.
  public init<Record: TableRecord>(
    _ type: Record.Type, merge: KeyValuePairs<any ColumnExpression, MergeRule> = [:],
    deletes: DeleteRule = .deleteWins, local: [any ColumnExpression] = [],
    collisions: CollisionRule = .quarantine, automatic: [any ColumnExpression] = [],
    unsyncedChildren: Database.ForeignKeyAction? = nil,
    formerColumnNames: KeyValuePairs<any ColumnExpression, String> = [:],
    formerNames: [String] = []
  ) {
    func named<Value>(_ pairs: KeyValuePairs<any ColumnExpression, Value>) -> [String: Value] {
      Dictionary(pairs.map { ($0.key.name, $0.value) }) { name, _ in name }
    }
    self.init(
      Record.databaseTableName, merge: named(merge), deletes: deletes,
      local: Set(local.map(\.name)), collisions: collisions,
      automatic: Set(automatic.map(\.name)), unsyncedChildren: unsyncedChildren,
      formerColumnNames: named(formerColumnNames), formerNames: formerNames)
  }
}

extension CollisionRule {
  /// The same by a record's column.
  public static func fold(into column: any ColumnExpression) -> CollisionRule {
    fold(into: column.name)
  }
}
