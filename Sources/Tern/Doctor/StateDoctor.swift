import TernCore
import TernDatabase

/// Reads the state of every row of a table: whether it is one, in its one form, no later than the
/// operations that are here, and whether the table shows what it says.
final class StateDoctor {
  private let transaction: StoreTransaction
  private let sql: TableSQL
  private let findings: Findings
  private let noted: NotedKeys
  private let writer: TableWriter
  private let kinds: [MergeRule.Kind]
  private var shape: TableShape { sql.shape }

  init(
    _ transaction: StoreTransaction, _ sql: TableSQL, _ findings: Findings, _ noted: NotedKeys
  ) throws {
    (self.transaction, self.sql, self.findings, self.noted) = (transaction, sql, findings, noted)
    writer = try TableWriter(transaction, sql, hasHeld: true)
    kinds = sql.shape.rules.map(\.kind)
  }

  func run() throws {
    if noted.isOver {
      try findings.add(
        .unchecked, "so many writes wait for their seal that the rows are not compared",
        at: .init(table: shape.name))
    }
    try checkLargeRows()
    let scan = try transaction.statement("SELECT * FROM \(sql.note.rowTable)")
    let keyCount = shape.keyColumns.count
    defer { scan.reset() }
    while try scan.step() {
      let key = scan.packedKey(shape)
      let place = DatabaseFinding.Place(table: shape.name, key: try WrittenValues.text(key))
      guard shape.holds((0..<keyCount).map { scan.value(Int32($0)) }) else {
        try findings.add(.stateDamaged, "the table's key column cannot hold the key", at: place)
        continue
      }
      guard let state = try state(scan, Int32(keyCount), place) else { continue }
      if !noted.contains(key) { try compare(state, key, place) }
    }
    try checkUnsynced()
  }

  // MARK: - The state

  private func state(
    _ scan: FastStatement, _ first: Int32, _ place: DatabaseFinding.Place
  ) throws -> RowState? {
    guard let life = UInt32(exactly: scan.int64(first)),
      let author = UInt32(exactly: scan.int64(first + 2)),
      let covered = UInt32(exactly: scan.int64(first + 3))
    else {
      try findings.add(.stateDamaged, "its life, author or columns are out of range", at: place)
      return nil
    }
    let bytes = scan.isNull(first + 4) ? nil : scan.blob(first + 4)
    var state = RowState(
      life: life, stamp: Stamp(time: HybridTime(rawValue: scan.raw(first + 1)), author: author),
      covered: covered)
    do throws(WireError) {
      if let bytes { state.cells = try RowState.readCells(bytes, isTrusted: false) }
    } catch {
      try findings.add(.stateDamaged, "its cells cannot be read: \(error)", at: place)
      return nil
    }
    guard try isKnown(state, place) else { return nil }
    if let error = state.formError(kinds, deletes: shape.deletes, authors: transaction.authors) {
      try findings.add(.stateForm, error, at: place)
      return nil
    }
    var writer = ByteWriter()
    state.appendCells(to: &writer)
    guard writer.bytes.elementsEqual(bytes ?? .init(start: nil, count: 0)),
      bytes?.isEmpty != true
    else {
      try findings.add(.stateForm, "its cells are written in another form", at: place)
      return nil
    }
    return state
  }

  /// Whether all that it names is here.
  private func isKnown(_ state: RowState, _ place: DatabaseFinding.Place) throws -> Bool {
    let authors = transaction.authors
    guard state.namedAuthors.allSatisfy({ $0 < authors.ids.count }) else {
      try findings.add(.stateAhead, "it names an author who is not known", at: place)
      return false
    }
    for stamp in state.everyStamp
    where try stamp.time > transaction.authorTable.row(stamp.author).time {
      var place = place
      place.author = authors.ids[Int(stamp.author)]
      try findings.add(
        .stateAhead, "it is stamped later than the last operation of the author", at: place)
      return true
    }
    for (replica, sequence) in try state.namedOperations(authors: authors).sorted {
      let stored =
        try authors.index(of: replica).map { try transaction.authorTable.row($0).stored } ?? 0
      guard sequence > stored else { continue }
      var place = place
      (place.author, place.sequence) = (replica, sequence)
      try findings.add(.stateAhead, "it names an operation that is not here", at: place)
      break
    }
    return true
  }

  // MARK: - The table

  private func compare(_ state: RowState, _ key: [UInt8], _ place: DatabaseFinding.Place) throws {
    // What is too large to travel was written here, and stands for itself.
    if try transaction.large.holds(key, of: shape.id) { return }
    // The table shows it because it refuses to let it go.
    if try writer.isRemovalRefused(key) { return }
    let shown = try writer.read(key)
    let held = try transaction.held.content(in: .held, shape.id, key)
    guard state.isShown else {
      if shown != nil {
        try findings.add(
          .rowUnwanted, "the state has no such row, and the table shows it", at: place)
      }
      return
    }
    guard let shown else {
      if held == nil {
        try findings.add(.rowMissing, "the state has the row, and the table does not", at: place)
      }
      return
    }
    if held != nil {
      try findings.add(.heldStray, "the row is quarantined and in its table too", at: place)
    }
    for column in shape.columns {
      guard let value = state.computed(UInt32(column.id)), shown[column.name] != value,
        try !writer.shows(value, in: column.name, of: key)
      else { continue }
      var place = place
      place.column = column.name
      try findings.add(
        .columnDiffers, "the table shows another value than the state has", at: place)
    }
  }

  /// Rows that no state and no note knows.
  private func checkUnsynced() throws {
    let keys = shape.keyColumns
    let scan = try transaction.statement(
      """
      SELECT \(keys.map { "r.\($0.quoted)" }.joined(separator: ", "))
      FROM \(shape.qualifiedName) AS r WHERE NOT EXISTS (
        SELECT 1 FROM \(sql.note.rowTable) AS s WHERE \(sql.note.isStateOfRow))
      """)
    defer { scan.reset() }
    while try scan.step() {
      let key = scan.packedKey(shape)
      if try noted.contains(key) || writer.isRemovalRefused(key) { continue }
      if try transaction.large.holds(key, of: shape.id) { continue }
      try findings.add(
        .rowUnsynced, "the row is in the table, and in no state and no note",
        at: .init(table: shape.name, key: try WrittenValues.text(key)))
    }
  }

  private func checkLargeRows() throws {
    guard transaction.large.hasRows,
      let count = try transaction.large.counts(of: transaction.sql)[shape.name]
    else {
      return
    }
    try findings.add(
      .largeRows, "\(count) rows are too large to travel", at: .init(table: shape.name))
  }
}
