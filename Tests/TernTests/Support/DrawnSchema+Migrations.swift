import Tern
import TernTesting

/// Migrations as an app's releases have them.
extension DrawnSchema {
  /// Makes this the schema of the next release.
  ///
  /// - Returns: the statements that take a database there. Devices run them at any time.
  mutating func migrate(using random: inout SeededGenerator) -> [String] {
    let number = tables.indices.randomElement(using: &random)!
    switch Int.random(in: 0..<(folds ? 14 : 12), using: &random) {
    case 0...2: return addColumn(to: number, &random)
    case 3, 4: return dropColumn(of: number, &random) ?? addColumn(to: number, &random)
    case 5: return renameColumn(of: number, &random) ?? addColumn(to: number, &random)
    case 6: return renameTable(number)
    case 7, 8: return rebuild(number, &random)
    case 9: return writeLocally(number, &random) ?? addColumn(to: number, &random)
    case 10: return addTable(&random)
    case 12, 13: return beginFolding() ?? addTable(&random)
    default:
      guard let later = tables.firstIndex(where: { !$0.isSynced }) else { return addTable(&random) }
      // What each device has in it is adopted.
      tables[later].isSynced = true
      return addColumn(to: later, &random)
    }
  }

  /// Makes this the schema of a release that rewrites what devices have alike.
  mutating func rewrite(using random: inout SeededGenerator) -> [String] {
    let number = tables.indices.randomElement(using: &random)!
    let table = tables[number]
    // Of a set or an extreme the state has the value, and not the table alone. Who writes that value
    // again writes nothing new, and shows it; others show what the migration wrote
    // (Docs/Migrations.md).
    let isKept = { (rule: MergeRule?) in rule == nil || rule == .counter }
    guard
      let column = table.columns.filter({
        isKept($0.rule) && $0.parent == nil && !$0.isUnique && !$0.isChecked
          && !table.computes($0) && !$0.isPointer
      }).randomElement(using: &random)
    else { return rebuild(number, &random) }
    // The sum stays in the state, so the doctor tells of the column until it is written.
    if column.rule == .counter { rebased.insert(column.id) }
    let value =
      column.rule == .counter
      ? "\(column.quoted) + 10"
      : column.type == "TEXT"
        ? "\(column.quoted) || '!'" : column.values.randomElement(using: &random)!
    let update = "UPDATE OR IGNORE \(table.quoted) SET \(column.quoted) = \(value)"
    // The app's own triggers fire in its migrations. One that says no would stop this one, and so
    // would one that writes a reference: GRDB migrates without foreign keys, and checks them then.
    let isStopped = triggers.contains { trigger in
      switch trigger.work {
      case .strict: true
      case .touch(let id, _):
        tables.contains { $0.columns.contains { $0.id == id && $0.parent != nil } }
      default: false
      }
    }
    return isStopped || random.happens(0.5)
      ? droppedTriggers + [update] + triggerTexts : [update]
  }

  private var droppedTriggers: [String] {
    triggerNames.map { "DROP TRIGGER IF EXISTS \($0)" }
  }

  /// No earlier release had it.
  private mutating func newName(_ random: inout SeededGenerator) -> String {
    let name = ["new", "x\"y ", "Order", "ß"].randomElement(using: &random)!
    nextID += 1
    return "\(name)\(nextID)"
  }

  private mutating func addColumn(
    to number: Int, _ random: inout SeededGenerator
  ) -> [String] {
    var column = column(newName(&random), tables[number].isStrict, &random)
    if column.rule == nil, column.constraint.isEmpty, random.happens(0.5) {
      column.constraint = "DEFAULT \(column.values[0])"
    }
    tables[number].columns.append(column)
    return [
      "ALTER TABLE \(tables[number].quoted) ADD COLUMN \(column.quoted) \(column.type) "
        + column.constraint
    ]
  }

  private mutating func dropColumn(
    of number: Int, _ random: inout SeededGenerator
  ) -> [String]? {
    guard let index = tables[number].columns.indices.randomElement(using: &random) else {
      return nil
    }
    let column = tables[number].columns[index]
    let dropped = droppedTriggers
    triggers.removeAll { $0.work.column == column.id }
    tables[number].columns.remove(at: index)
    // SQLite drops no column that a constraint names.
    var isNamed = column.parent != nil || column.isChecked
    // Every UNIQUE index names the column by which rows are folded.
    var gone = tables[number].uniques.filter { column.isPointer || $0.names(column.id) }
    var alone = column.isUnique ? [column] : []
    if column.isPointer {
      alone = tables[number].columns.filter(\.isUnique)
      for index in tables[number].columns.indices { tables[number].columns[index].isUnique = false }
    }
    if let lower = tables[number].lower, lower.of == column.id {
      gone += tables[number].uniques.filter { $0.names(lower.id) && !$0.names(column.id) }
      tables[number].lower = nil
      isNamed = true
    }
    tables[number].uniques.removeAll { unique in gone.contains { $0.id == unique.id } }
    // What is left of its indexes would name the pointer that goes with it.
    if tables[number].forgetIdlePointer() { isNamed = true }
    if isNamed || random.happens(0.3) { return dropped + rebuilt(number) + triggerTexts }
    let indexes = alone.map(Self.indexName) + gone.map(\.indexName)
    return dropped + indexes.map { "DROP INDEX \($0)" }
      + ["ALTER TABLE \(tables[number].quoted) DROP COLUMN \(column.quoted)"] + triggerTexts
  }

  private mutating func renameColumn(
    of number: Int, _ random: inout SeededGenerator
  ) -> [String]? {
    guard let index = tables[number].columns.indices.randomElement(using: &random) else {
      return nil
    }
    let column = tables[number].columns[index]
    tables[number].columns[index].name = newName(&random)
    tables[number].columns[index].formerNames.insert(column.name, at: 0)
    return [
      "ALTER TABLE \(tables[number].quoted) RENAME COLUMN \(column.quoted) "
        + "TO \(tables[number].columns[index].quoted)"
    ]
  }

  private mutating func renameTable(_ number: Int) -> [String] {
    let table = tables[number]
    nextID += 1
    tables[number].name = "table \"\(nextID)"
    if table.isSynced { tables[number].formerNames.insert(table.name, at: 0) }
    return ["ALTER TABLE \(table.quoted) RENAME TO \(tables[number].quoted)"]
  }

  private mutating func rebuild(_ number: Int, _ random: inout SeededGenerator) -> [String] {
    tables[number].columns.shuffle(using: &random)
    if random.happens(0.3) { tables[number].isWithoutRowid.toggle() }
    // Rows that were quarantined come then.
    for index in tables[number].columns.indices where random.happens(0.3) {
      tables[number].columns[index].isUnique = false
      tables[number].columns[index].isChecked = false
    }
    tables[number].uniques.removeAll { _ in random.happens(0.2) }
    _ = tables[number].forgetIdlePointer()
    return droppedTriggers + rebuilt(number) + triggerTexts
  }

  private func rebuilt(_ number: Int) -> [String] {
    let table = tables[number]
    let names = (table.keys + table.columns).map(\.quoted).joined(separator: ", ")
    return [
      creation(number, as: "new table"),
      "INSERT INTO \"new table\" (\(names)) SELECT \(names) FROM \(table.quoted)",
      "DROP TABLE \(table.quoted)", "ALTER TABLE \"new table\" RENAME TO \(table.quoted)",
    ] + indexes(number)
  }

  private mutating func writeLocally(
    _ number: Int, _ random: inout SeededGenerator
  ) -> [String]? {
    guard let column = tables[number].columns.first(where: \.isOwn) else { return nil }
    let update = "UPDATE \(tables[number].quoted) SET \(column.quoted) = 'migrated'"
    return droppedTriggers + [update] + triggerTexts
  }

  /// A table that has rows from the start, which every device adopts.
  private mutating func addTable(_ random: inout SeededGenerator) -> [String] {
    nextID += 1
    var added = table("table'\(nextID)", hasParent: random.happens(0.5), &random)
    // Its index's name and its columns' numbers are new as well.
    for index in added.columns.indices where random.happens(0.5) {
      added.columns[index].isUnique = false
    }
    added.uniques.removeAll { _ in random.happens(0.5) }
    _ = added.forgetIdlePointer()
    let number = tables.count
    tables.append(added)
    let (former, names) = (triggers.count, added.keys.map(\.quoted).joined(separator: ", "))
    drawTriggers(on: number, &random)
    let rows = (0..<Int.random(in: 0...2, using: &random)).map { _ in
      let values = added.keys.map { $0.values.randomElement(using: &random)! }
      return "INSERT OR IGNORE INTO \(added.quoted) (\(names)) "
        + "VALUES (\(values.joined(separator: ", ")))"
    }
    var own = self
    own.triggers.removeFirst(former)
    // A mirror has all rows from the start, and nothing refuses them.
    let isMirror = { (text: String) in text.hasPrefix("CREATE TRIGGER mirror") }
    let texts = own.triggerTexts
    return [creation(number)] + indexes(number) + own.mirrorTables + texts.filter(isMirror) + rows
      + texts.filter { !isMirror($0) }
  }
}
