import TernTesting

/// The app's triggers, of every class.
extension DrawnSchema {
  struct Trigger {
    enum Work {
      /// Writes a column that stays on its device.
      case local(column: Int)
      /// Writes a column that travels.
      case touch(column: Int, value: String)
      case strict(event: String, value: String, raise: String)
      case sweep(table: Int, value: String)
      /// Copies the keys into a table of the app's.
      case mirror(isReplacing: Bool)

      /// What it needs to be there.
      var column: Int? {
        switch self {
        case .local(let column), .touch(let column, _): column
        default: nil
        }
      }
    }

    var table: Int
    var work: Work
  }

  /// Pairs of queries, of a mirror and of what it mirrors, that give the same.
  var mirrors: [(String, String)] {
    triggers.compactMap { trigger in
      guard case .mirror = trigger.work else { return nil }
      let keys = tables[trigger.table].keys
      let columns = keys.indices.map { "quote(k\($0))" }.joined(separator: " || ' ' || ")
      let names = keys.map { "quote(\($0.quoted))" }.joined(separator: " || ' ' || ")
      return (
        "SELECT \(columns) FROM mirror_\(trigger.table)",
        "SELECT \(names) FROM \(tables[trigger.table].quoted)"
      )
    }
  }

  /// The tables that the app's triggers write, besides those that sync.
  var mirrorTables: [String] {
    triggers.compactMap { trigger in
      guard case .mirror = trigger.work else { return nil }
      let columns = tables[trigger.table].keys.indices.map { "k\($0)" }.joined(separator: ", ")
      return "CREATE TABLE mirror_\(trigger.table) (\(columns), UNIQUE (\(columns)))"
    }
  }

  var triggerTexts: [String] { triggers.flatMap(texts) }

  var triggerNames: [String] {
    triggerTexts.map { String($0.split(separator: " ", maxSplits: 3)[2]) }
  }

  private func texts(of trigger: Trigger) -> [String] {
    let (number, table) = (trigger.table, tables[trigger.table])
    let keys = table.keys.map { "\($0.quoted) = NEW.\($0.quoted)" }.joined(separator: " AND ")
    func quoted(_ id: Int) -> String { table.columns.first { $0.id == id }!.quoted }
    switch trigger.work {
    case .local(let column):
      return [
        """
        CREATE TRIGGER local_\(number) AFTER INSERT ON \(table.quoted) BEGIN
          UPDATE \(table.quoted) SET \(quoted(column)) = 'by trigger' WHERE \(keys);
        END
        """
      ]
    case .touch(let column, let value):
      return [
        """
        CREATE TRIGGER touch_\(number) AFTER UPDATE ON \(table.quoted) BEGIN
          UPDATE OR IGNORE \(table.quoted) SET \(quoted(column)) = \(value) WHERE \(keys);
        END
        """
      ]
    case .strict(let event, let value, let raise):
      return [
        """
        CREATE TRIGGER strict_\(number) BEFORE \(event)
        ON \(table.quoted) WHEN NEW.\(table.keys[0].quoted) = \(value) BEGIN
          SELECT RAISE(\(raise));
        END
        """
      ]
    case .sweep(let other, let value):
      let other = tables[other]
      return [
        """
        CREATE TRIGGER sweep_\(number) AFTER DELETE ON \(table.quoted) BEGIN
          DELETE FROM \(other.quoted) WHERE \(other.keys[0].quoted) = \(value);
        END
        """
      ]
    case .mirror(let isReplacing): return mirror(of: number, isReplacing)
    }
  }

  private func mirror(of number: Int, _ isReplacing: Bool) -> [String] {
    let (table, mirror) = (tables[number], "mirror_\(number)")
    let names = table.keys.map(\.quoted)
    func values(_ row: String) -> String { names.map { "\(row).\($0)" }.joined(separator: ", ") }
    func match(_ row: String) -> String {
      names.enumerated().map { "k\($0) IS \(row).\($1)" }.joined(separator: " AND ")
    }
    // Also says what a REPLACE removes, for which no delete trigger fires.
    let insert =
      isReplacing
      ? "INSERT OR REPLACE INTO \(mirror) VALUES (\(values("NEW")))"
      : "DELETE FROM \(mirror) WHERE \(match("NEW")); INSERT INTO \(mirror) VALUES (\(values("NEW")))"
    return [
      "CREATE TRIGGER \(mirror)_came AFTER INSERT ON \(table.quoted) BEGIN \(insert); END",
      """
      CREATE TRIGGER \(mirror)_went AFTER DELETE ON \(table.quoted) BEGIN
        DELETE FROM \(mirror) WHERE \(match("OLD"));
      END
      """,
      """
      CREATE TRIGGER \(mirror)_moved AFTER UPDATE OF \(names.joined(separator: ", "))
      ON \(table.quoted) BEGIN
        DELETE FROM \(mirror) WHERE \(match("OLD"));
        \(insert);
      END
      """,
    ]
  }

  mutating func drawTriggers(on number: Int, _ random: inout SeededGenerator) {
    let table = tables[number]
    func add(_ work: Trigger.Work) { triggers.append(Trigger(table: number, work: work)) }
    if random.happens(0.5) { add(.mirror(isReplacing: random.happens(0.5))) }
    if let local = table.columns.first(where: \.isOwn), random.happens(0.7) {
      add(.local(column: local.id))
    }
    if let column = table.plain.randomElement(using: &random), random.happens(0.4) {
      add(.touch(column: column.id, value: column.values.randomElement(using: &random)!))
    }
    if random.happens(0.3) {
      let value = table.keys[0].values.randomElement(using: &random)!
      let raise = ["ABORT, 'no'", "IGNORE", "ROLLBACK, 'no'"].randomElement(using: &random)!
      add(.strict(event: random.happens(0.5) ? "INSERT" : "UPDATE", value: value, raise: raise))
    }
    if let other = tables.indices.randomElement(using: &random), random.happens(0.3) {
      let value = tables[other].keys[0].values.randomElement(using: &random)!
      add(.sweep(table: other, value: value))
    }
  }
}
