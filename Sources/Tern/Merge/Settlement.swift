import TernCore
import TernDatabase

/// Decides at the end of a merge which rows can be shown, as a function of the state alone, so that
/// equal states give equal tables (INV-01):
///
/// 1. Of the rows that CHECK and NOT NULL accept, the greatest set in which every row has its
///    parents: those of them that can stand but for UNIQUE.
/// 2. Of these, walked in the order of their ``Creation``, each that collides in no UNIQUE index
///    with one before it.
/// 3. Of these, again the greatest set in which every row has its parents.
///
/// Rows in the tables cannot collide with each other. So it is enough to begin with all of them and
/// with the rows held aside, whatever the order in which they arrived.
final class Settlement {
  typealias RowID = StrayWatch.RowID

  let transaction: StoreTransaction
  private(set) var writers: [Int64: TableWriter]
  /// Rows that stand but for UNIQUE, while the first two steps are decided.
  var waiting: [RowID: WaitingRow] = [:]
  /// Rows in their tables that may lose their parents in the second step.
  var leaning: Set<RowID> = []
  /// Tables that rows of other tables refer to by other columns than the key, once they changed.
  var looselyReferredTo: Set<Int64> = []
  let losses: Losses
  /// Whether rows were held aside before the merge.
  let hadHeld: Bool
  /// Rows that are held aside now because a parent is deleted, and were not before.
  var newOrphans = 0

  init(
    _ transaction: StoreTransaction, writers: [Int64: TableWriter], losses: Losses, hadHeld: Bool
  ) throws {
    self.transaction = transaction
    self.writers = writers
    self.losses = losses
    self.hadHeld = hadHeld
  }

  func run() throws -> [Int64: TableWriter] {
    let known = try knownOrphans()
    if try transaction.hasHeldRows() {
      for sql in transaction.sql { try showHeld(sql) }
    }
    if !waiting.isEmpty {
      try holdOrphans()
      try walk()
      waiting.removeAll()
    }
    try holdOrphans()
    try listOrphans(known)
    return writers
  }

  func writer(_ sql: TableSQL) throws -> TableWriter {
    if let writer = writers[sql.shape.id] { return writer }
    let writer = try TableWriter(transaction, sql, hasHeld: true)
    writers[sql.shape.id] = writer
    return writer
  }

  // MARK: - Rows held aside

  private func showHeld(_ sql: TableSQL) throws {
    let keys = try transaction.heldKeys(sql.shape.id)
    if keys.isEmpty { return }
    let writer = try writer(sql)
    if sql.shape.uniques.isEmpty {
      for key in keys { _ = try show(key, writer) }
      return
    }
    // In the order of the walk, so that few that are shown here have to go again.
    let rows = try keys.map { (key: $0, creation: try writer.creation(of: $0)) }
    for (key, creation) in rows.sorted(by: { $0.creation < $1.creation }) {
      guard let content = try show(key, writer) else { continue }
      let row = WaitingRow(sql: sql, key: key, content: content, creation: creation)
      waiting[RowID(table: sql.shape.id, key: key)] = row
    }
  }

  /// Shows a row that is held aside.
  ///
  /// - Returns: its content, where a UNIQUE index alone refused it.
  private func show(_ key: [UInt8], _ writer: TableWriter) throws -> [String: Value]? {
    let shape = writer.sql.shape
    let state = try writer.state(of: key)
    // Without a state it is a row that is too large to travel and had to yield.
    guard state?.isShown ?? true,
      let content = try transaction.storedContent(in: .held, shape.id, key)
    else { return nil }
    try transaction.dropContent(in: .held, shape.id, key)
    // What is too large to travel was written here meanwhile, and stands for itself.
    if try writer.read(key) != nil { return nil }
    let present = shape.present(content)
    return try writer.write(key, content: present) == .unique ? present : nil
  }

  // MARK: - UNIQUE

  /// Shows the waiting rows that collide with none created before them, in the place of those
  /// created after them.
  private func walk() throws {
    var queue = waiting.values.sorted { $0.creation < $1.creation }
    var index = 0
    while index < queue.count {
      let row = queue[index]
      index += 1
      let writer = try writer(row.sql)
      let rivals = try writer.rivals(of: row.key, content: row.content)
      let creations = try rivals.map(writer.creation)
      if Planted.isActive(.uniqueByArrival), !rivals.isEmpty { continue }
      if creations.contains(where: { $0 < row.creation }) { continue }
      for (key, creation) in zip(rivals, creations) {
        let content = try writer.read(key) ?? [:]
        try writer.hold(key, .unique, adding: [:])
        // Its turn comes: what it collides with now may be refused by something else.
        let place = queue[index...].firstIndex { creation < $0.creation } ?? queue.endIndex
        queue.insert(
          WaitingRow(sql: row.sql, key: key, content: content, creation: creation), at: place)
      }
      try transaction.dropContent(in: .held, row.sql.shape.id, row.key)
      try writer.write(row.key, content: row.content)
    }
  }
}

extension TableShape {
  /// What was held aside or kept under the names that the table has now, spelled as it has them: a
  /// migration can change the letters' case alone. What was of dropped columns is left out.
  func present(_ content: [String: Value]) -> [String: Value] {
    // In one order, since an earlier Tern could leave both spellings of one name.
    let byName = Dictionary(
      content.sorted { $0.key < $1.key }.map { ($0.key.folded, $0.value) },
      uniquingKeysWith: { $1 })
    func value(_ name: String) -> Value? { content[name] ?? byName[name.folded] }
    var present: [String: Value] = [:]
    for column in columns {
      present[column.name] = ([column.name] + column.formerNames).lazy.compactMap(value).first
    }
    for name in localColumns { present[name] = value(name) }
    return present
  }

  func has(_ column: String) -> Bool {
    columns.contains { $0.name.folded == column.folded }
      || localColumns.contains { $0.folded == column.folded }
  }
}
