import GRDB

/// The foreign keys of unsynced tables, as far as a row of a synced one can be behind them: what
/// becomes of their rows when a merge deleted that.
struct LocalReferences: Sendable {
  /// A reference of an unsynced table to the key of a synced one.
  struct Reference: Sendable {
    let child: String
    /// In the order of the parent's key.
    let columns: [String]
    let action: Action
    /// By which SQL tells one row of the child from the others; empty where nothing does.
    let identity: [String]
  }

  /// What a statement does to rows.
  enum Action: Hashable, Sendable {
    case delete
    /// Each column's new value, in SQL.
    case set([String: String])

    /// Whether it gives values that may be of no parent.
    var hasDefaults: Bool {
      guard case .set(let values) = self else { return false }
      return values.values.contains { $0 != "NULL" }
    }

    /// Whether what refers to these columns of the rows loses its parent.
    func touches(_ columns: [String]) -> Bool {
      guard case .set(let values) = self else { return true }
      return values.keys.contains { name in columns.contains { $0.folded == name.folded } }
    }
  }

  /// A reference to an unsynced table, of whatever table.
  struct Edge: Sendable {
    enum Child: Hashable, Sendable {
      /// What a delete and an update of the parent do to the rows, by their declaration; `nil`
      /// where it says nothing.
      case unsynced(onDelete: Action?, onUpdate: Action?)
      case synced(Int64)
      /// Of another replica in the file, whose rows this one cannot quarantine.
      case ofOther
    }
    let table: String
    let columns: [String]
    let parentColumns: [String]
    let child: Child
    /// Whether a child's values are its parent's, and none that SQLite takes for the same.
    let isExact: Bool
  }

  /// By the synced table's number.
  private(set) var byParent: [Int64: [Reference]] = [:]
  /// By the folded name of the unsynced table that they refer to.
  private(set) var edges: [String: [Edge]] = [:]
  /// Unsynced tables whose rows have rows of synced ones behind them, by their folded names.
  private(set) var withSynced: Set<String> = []
  /// Those that say neither what becomes of their rows nor had the schema say it, for people.
  private(set) var open: [String] = []

  static let none = LocalReferences()

  private init() {}

  var isEmpty: Bool { byParent.isEmpty }

  func isParent(_ table: Int64) -> Bool { byParent[table] != nil }

  /// The unsynced tables that an action on one can reach, itself too.
  func reached(from table: String) -> [String] {
    var reached = [table]
    var index = 0
    while index < reached.count {
      for edge in edges[reached[index].folded] ?? [] {
        guard case .unsynced = edge.child else { continue }
        let isNew = !reached.contains { $0.folded == edge.table.folded }
        if isNew { reached.append(edge.table) }
      }
      index += 1
    }
    return reached
  }
}

extension LocalReferences {
  /// Unsynced tables whose rows an action on one may leave without a parent that is there: where a
  /// foreign key refuses the parent's delete, or gives another parent.
  func endangered(by reference: Reference) -> [String] {
    var found: [String: String] = [:]
    if reference.action.hasDefaults { found[reference.child.folded] = reference.child }
    for table in reached(from: reference.child) {
      for edge in edges[table.folded] ?? [] {
        guard case .unsynced(let onDelete, let onUpdate) = edge.child else { continue }
        let isSafe = onDelete.map { !$0.hasDefaults } ?? false
        let isUpdated =
          reference.action != .delete && reference.action.touches(edge.parentColumns)
        if !isSafe || isUpdated && (onUpdate?.hasDefaults ?? true) {
          found[edge.table.folded] = edge.table
        }
      }
    }
    return found.values.sorted()
  }
}

// MARK: - Reading them

extension LocalReferences {
  /// - Parameter ofOthers: tables of other replicas in the file, by their folded names.
  init(_ db: Database, _ shapes: [TableShape], ofOthers: Set<String>) throws {
    let synced = Dictionary(
      shapes.map { ($0.name.folded, $0) }, uniquingKeysWith: { first, _ in first })
    func isUnsynced(_ name: String) -> Bool {
      synced[name.folded] == nil && !ofOthers.contains(name.folded)
    }
    let references = try Self.references(db)
    guard references.contains(where: { isUnsynced($0.child) && synced[$0.parent.folded] != nil })
    else { return }
    let tables = Set(references.map(\.child)).sorted()
    for name in tables where isUnsynced(name) {
      let child = try UnsyncedTable(name, db)
      for key in try DeclaredForeignKey.all(of: name, db) {
        if let parent = synced[key.parent.folded] {
          try add(key, of: child, to: parent, db)
        } else if isUnsynced(key.parent) {
          try add(
            key, of: name,
            .unsynced(
              onDelete: child.action(key.onDelete, key.columns),
              onUpdate: child.updates(key)), db)
        }
      }
    }
    for name in tables where !isUnsynced(name) {
      for key in try DeclaredForeignKey.all(of: name, db) where isUnsynced(key.parent) {
        let child = synced[name.folded].map { Edge.Child.synced($0.id) } ?? .ofOther
        try add(key, of: name, child, db)
      }
    }
    findThoseWithSynced()
    open.sort()
  }

  /// Which of the app's tables refer to which: all that an app without such tables pays for.
  private static func references(_ db: Database) throws -> [(child: String, parent: String)] {
    try Row.fetchAll(
      db,
      sql: """
        SELECT DISTINCT t.name, f."table" FROM main.sqlite_master AS t,
          pragma_foreign_key_list(t.name, 'main') AS f
        WHERE t.type = 'table' AND substr(t.name, 1, 10) <> 'grdb_tern_'
        """
    ).map { (child: $0[0], parent: $0[1]) }
  }

  private mutating func add(
    _ key: DeclaredForeignKey, of child: UnsyncedTable, to parent: TableShape, _ db: Database
  ) throws {
    guard let named = try key.parentColumns(db) else { return }
    let text = "“\(child.name)” (\(key.columns.joined(separator: ", "))) to “\(parent.name)”"
    let columns = parent.keyColumns.indices.compactMap { index -> String? in
      guard
        let place = named.firstIndex(where: { $0.folded == parent.keyColumns[index].folded }),
        // Without a type it holds a key as it is. SQLite too takes a value that it would convert
        // for no reference when the parent goes (0035).
        [parent.keyAffinities[index], .blob].contains(child.affinity(of: key.columns[place]))
      else { return nil }
      return key.columns[place]
    }
    guard columns.count == named.count, columns.count == parent.keyColumns.count else {
      open.append("\(text): not by its key")
      return
    }
    let declared = child.action(key.onDelete, columns)
    let chosen: Action? =
      parent.unsyncedChildren.flatMap { child.action($0.rawValue, columns) }
    guard let action = declared ?? chosen else {
      if parent.unsyncedChildren == nil { open.append("\(text): \(key.onDelete)") }
      return
    }
    byParent[parent.id, default: []].append(
      Reference(child: child.name, columns: columns, action: action, identity: child.identity))
  }

  private mutating func add(
    _ key: DeclaredForeignKey, of table: String, _ child: Edge.Child, _ db: Database
  ) throws {
    guard let named = try key.parentColumns(db) else { return }
    let (parent, own) = (try UnsyncedTable(key.parent, db), try UnsyncedTable(table, db))
    let isExact = try zip(key.columns, named).allSatisfy {
      try own.affinity(of: $0) == parent.affinity(of: $1)
        && db.isBinary($0, in: table) && db.isBinary($1, in: key.parent)
    }
    edges[key.parent.folded, default: []].append(
      Edge(
        table: table, columns: key.columns, parentColumns: named, child: child, isExact: isExact))
  }

  private mutating func findThoseWithSynced() {
    var isGrowing = true
    while isGrowing {
      isGrowing = false
      for (name, edges) in edges where !withSynced.contains(name) {
        let isOne = edges.contains {
          if case .unsynced = $0.child { return withSynced.contains($0.table.folded) }
          return true
        }
        if isOne { isGrowing = withSynced.insert(name).inserted || isGrowing }
      }
    }
  }
}

/// An unsynced table, as far as a foreign key's action asks for it.
private struct UnsyncedTable {
  let name: String
  let identity: [String]
  private let columns: [TableInspection.RawColumn]

  init(_ name: String, _ db: Database) throws {
    self.name = name
    columns = try TableInspection(db: db, declared: SyncTable(name)).columns()
    let isWithoutRowID =
      try Bool.fetchOne(
        db, sql: "SELECT wr FROM pragma_table_list(?) WHERE schema = 'main'", arguments: [name])
      ?? false
    let names = Set(columns.map(\.name.folded))
    identity =
      isWithoutRowID
      ? columns.filter { $0.keyIndex > 0 }.sorted { $0.keyIndex < $1.keyIndex }.map(\.name)
      : ["rowid", "_rowid_", "oid"].first { !names.contains($0) }.map { [$0] } ?? []
  }

  private func column(_ name: String) -> TableInspection.RawColumn? {
    columns.first { $0.name.folded == name.folded }
  }

  func affinity(of name: String) -> Affinity? { column(name)?.affinity }

  /// `nil` for NO ACTION and RESTRICT.
  func action(_ declared: String, _ columns: [String]) -> LocalReferences.Action? {
    switch declared {
    case "CASCADE": .delete
    case "SET NULL":
      .set(Dictionary(columns.map { ($0, "NULL") }, uniquingKeysWith: { first, _ in first }))
    case "SET DEFAULT":
      .set(
        Dictionary(
          columns.map { ($0, column($0)?.defaultValue.map { "(\($0))" } ?? "NULL") },
          uniquingKeysWith: { first, _ in first }))
    default: nil
    }
  }

  /// What an update of the parent does to the rows: other values in all columns, whichever.
  func updates(_ key: DeclaredForeignKey) -> LocalReferences.Action? {
    action(key.onUpdate == "CASCADE" ? "SET NULL" : key.onUpdate, key.columns)
  }
}

extension Database {
  fileprivate func isBinary(_ column: String, in table: String) throws -> Bool {
    (collation(of: column, in: table) ?? "BINARY").folded == "binary"
  }
}
