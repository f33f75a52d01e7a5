#if Server
import TernCore

/// A table as a check knows it, by names alone: the server has no schema.
final class TracedTable {
  let id: Int64
  let name: String
  let deletes: DeleteRule
  private let keyColumns: [String]
  /// Of the key's columns, by the name of today.
  private var formerKeyNames: [String: Set<String>] = [:]
  /// Its names, those before too.
  private(set) var allNames: Set<String>

  /// What tells tables apart: no merge takes rows with another key, or under another rule for
  /// deletes.
  struct Name: Hashable {
    private let table: String
    private let deletes: UInt8
    private let keyColumns: [String]

    init(_ block: BodyBlock) {
      table = block.table.folded
      deletes = block.deletes
      keyColumns = block.keyColumns.map(\.folded)
    }
  }

  /// What tells columns apart: no merge takes values under another rule.
  private struct ColumnName: Hashable {
    let column: String
    let rule: UInt8

    init(_ column: BodyBlock.Column) { (self.column, rule) = (column.name.folded, column.rule) }

    init(_ column: String, _ rule: UInt8) { (self.column, self.rule) = (column.folded, rule) }
  }
  /// By column, whose numbers are in the order in which they were met. What is a sum, a set or a
  /// text counts as written last by whom its stamp says.
  private(set) var rules: [MergeRule] = []
  private(set) var columns: [(id: UInt32, rule: MergeRule)] = []
  private(set) var names: [String] = []
  private var numbers: [ColumnName: UInt32] = [:]
  private var formerNumbers: [ColumnName: UInt32] = [:]
  private var ruleBytes: [UInt8] = []
  /// Whether the offered snapshot has it.
  private(set) var isOffered = false
  /// Where the offered snapshot has each column in its block; `nil` where it does not know it, or
  /// not the table.
  private(set) var offered: [Int?] = []

  /// - Parameter block: the first one that was met.
  init(id: Int64, _ block: BodyBlock) {
    self.id = id
    name = block.table
    allNames = [block.table.folded]
    deletes = DeleteRule(DeleteRule.Kind(rawValue: block.deletes) ?? .deleteWins)
    keyColumns = block.keyColumns.map(\.folded)
  }

  /// Whether a merge takes rows of the block into the table. Those of another wait.
  func takes(_ block: BodyBlock) -> Bool {
    block.deletes == deletes.kind.rawValue && block.keyColumns.count == keyColumns.count
      && zip(block.keyColumns.map(\.folded), keyColumns).allSatisfy { theirs, own in
        theirs == own || formerKeyNames[own]?.contains(theirs) ?? false
      }
  }

  /// The number of each of a block's columns; `nil` for one that is of no account.
  ///
  /// - Parameters:
  ///   - isFormer: whether names of before are meant.
  ///   - addsNone: whether a column that was not met is of no account.
  func columns(of block: BodyBlock, isFormer: Bool, addsNone: Bool = false) -> [UInt32?] {
    block.columns.map { column in
      let name = ColumnName(column)
      if let known = numbers[name] ?? (isFormer ? formerNumbers[name] : nil) { return known }
      return addsNone ? nil : add(column)
    }
  }

  private func add(_ column: BodyBlock.Column) -> UInt32 {
    let number = UInt32(rules.count)
    numbers[ColumnName(column)] = number
    ruleBytes.append(column.rule)
    let kind = MergeRule.Kind(rawValue: column.rule)
    let rule = kind == .maximum || kind == .minimum ? MergeRule(kind!) : .lastWriter
    rules.append(rule)
    columns.append((number, rule))
    names.append(column.name)
    offered.append(nil)
    return number
  }

  /// Notes a block of the offered snapshot.
  func offer(_ block: BodyBlock) {
    isOffered = true
    for (place, column) in columns(of: block, isFormer: false).enumerated() {
      if let column { offered[Int(column)] = place }
    }
  }

  /// Notes the names that columns of the offered snapshot had.
  func rename(_ naming: SnapshotSchema.Table) {
    allNames.formUnion(naming.formerNames.map(\.folded))
    for (column, formerNames) in naming.formerColumns {
      if keyColumns.contains(column.folded) {
        formerKeyNames[column.folded] = Set(formerNames.map(\.folded))
      }
      for (number, name) in names.enumerated() where name.folded == column.folded {
        for former in formerNames {
          formerNumbers[ColumnName(former, ruleBytes[number])] = UInt32(number)
        }
      }
    }
  }

  /// The names of a column, those before too.
  func allNames(of column: UInt32) -> Set<String> {
    Set(formerNumbers.filter { $0.value == column }.map(\.key.column))
      .union([names[Int(column)].folded])
  }
}

/// What is known of a row of a space: who wrote it, and by column a hash of what they wrote, where
/// every replica shows that.
struct TracedRow {
  var state: RowState
  var values: [(column: UInt32, hash: UInt64)] = []

  /// A row of a snapshot, in a table's numbers.
  ///
  /// - Parameters:
  ///   - columns: of the block that it stands in.
  ///   - hasValues: whether what it shows is what was written.
  init(
    _ row: SnapshotRow, of table: TracedTable, columns: [UInt32?], hasValues: Bool,
    author: (UInt32) throws(WireError) -> UInt32
  ) throws {
    var sources: [UInt32?] = Array(repeating: nil, count: table.rules.count)
    for (place, column) in columns.enumerated() {
      if let column { sources[Int(column)] = UInt32(place) }
    }
    var state = row.state
    for index in state.cells.indices {
      switch state.cells[index].content {
      case .counter(_, let stamp), .set(_, let stamp), .text(_, let stamp):
        state.cells[index].content = .stamped(stamp)
      case .unset, .stamped, .extreme, .presence: break
      }
    }
    self.state = try state.renumbered(
      authors: author, columns: sources, kinds: table.rules.map(\.kind))
    guard hasValues else { return }
    for (place, column) in columns.enumerated() {
      if let column, let value = row.values[place] { values.append((column, Self.hash(value))) }
    }
  }

  init() { state = RowState(life: 0) }

  /// Of equal values an equal number, of others another one. Nobody outside can guess it: it
  /// depends on a number that the process drew.
  static func hash(_ value: WireValue) -> UInt64 {
    var hasher = Hasher()
    switch value.tag {
    case .null, .integer128: hasher.combine(UInt8(0))
    case .integer, .negative, .integer64:
      hasher.combine(UInt8(1))
      hasher.combine(Int64(bitPattern: value.bits))
    case .real:
      // SQLite keeps a whole number of a column for reals as an integer.
      let number = Double(bitPattern: value.bits)
      hasher.combine(UInt8(1))
      if let whole = Int64(exactly: number) {
        hasher.combine(whole)
      } else {
        hasher.combine(number)
      }
    case .text:
      hasher.combine(UInt8(2))
      hasher.combine(bytes: value.content)
    case .blob:
      hasher.combine(UInt8(3))
      hasher.combine(bytes: value.content)
    }
    return UInt64(bitPattern: Int64(hasher.finalize()))
  }

  func hash(of column: UInt32) -> UInt64? { values.first { $0.column == column }?.hash }

  private mutating func set(_ hash: UInt64?, of column: UInt32) {
    values.removeAll { $0.column == column }
    if let hash { values.append((column, hash)) }
  }

  /// Merges a row of an operation, as every replica does.
  ///
  /// - Parameters:
  ///   - columns: of the block that it stands in.
  ///   - hasValues: whether every replica shows what it wrote.
  mutating func merge(
    _ row: BodyRow, of table: TracedTable, columns: [UInt32?], stamp: Stamp, sequence: UInt64,
    hasValues: Bool, _ authors: Authors
  ) throws(WireError) {
    let change = RowChange(
      kind: row.kind, life: row.life, stamp: stamp, sequence: sequence, covered: row.covered)
    let life = state.life
    if state.begin(change, deletes: table.deletes, authors: authors) == .beaten { return }
    if state.life != life { values.removeAll() }
    if row.kind != .delete {
      for (place, column) in columns.enumerated() where row.isCarried[place] {
        guard let column else { continue }
        let rule = table.rules[Int(column)]
        let hasChanged = try state.mergeColumn(
          column, rule: rule, value: row.values[place], stamp: stamp, turn: Turn(sequence),
          authors: authors)
        guard hasChanged, rule.isLastWriter else { continue }
        set(hasValues ? Self.hash(row.values[place]) : nil, of: column)
      }
    }
    if row.kind == .insert {
      state.finishInsert(stamp, rules: table.rules, authors: authors)
    }
    state.settle(table.deletes, after: change, authors: authors)
  }
}
#endif
