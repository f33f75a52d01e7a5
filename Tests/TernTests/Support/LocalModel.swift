/// Tables of a device's own and what their foreign keys declare, as SQLite would carry it out.
struct LocalModel: Equatable {
  enum Action: String, CaseIterable {
    case cascade = "CASCADE"
    case setNull = "SET NULL"
    case setDefault = "SET DEFAULT"
    case nothing = "NO ACTION"
  }

  struct Reference: Hashable {
    let child: String
    let column: String
    let parent: String
    let action: Action
    let isRequired: Bool
    /// `nil` for NULL.
    let standard: String?
  }

  /// What a statement is refused for.
  struct Refused: Error {}

  /// In the order of the tables' names, and each table's columns last first, as SQLite numbers
  /// them.
  let references: [Reference]
  /// By table and key, the other columns.
  var rows: [String: [String: [String: String?]]] = [:]
  /// The keys that stand in synced tables.
  var synced: [String: Set<String>] = [:]

  /// By table and key.
  var allRows: [[String]: [String: String?]] {
    var all: [[String]: [String: String?]] = [:]
    for (table, rows) in rows { for (key, row) in rows { all[[table, key]] = row } }
    return all
  }

  private func holds(_ table: String, _ key: String) -> Bool {
    rows[table]?[key] != nil || synced[table]?.contains(key) ?? false
  }

  private func children(of key: String, by reference: Reference) -> [String] {
    (rows[reference.child] ?? [:]).filter { $0.value[reference.column] == .some(key) }.map(\.key)
      .sorted()
  }

  /// Parents that sync are deleted, in the order of tables and keys.
  mutating func lose(_ parents: Set<[String]>) {
    for row in parents.sorted(by: { $0.lexicographicallyPrecedes($1) })
    where synced[row[0]]?.contains(row[1]) != true {
      lose(row[0], row[1])
    }
  }

  /// A parent that syncs is deleted: statement by statement, and row by row where SQLite refuses
  /// one.
  mutating func lose(_ table: String, _ key: String) {
    for reference in references where reference.parent == table && reference.action != .nothing {
      let keys = children(of: key, by: reference)
      if keys.isEmpty || attempt(reference, keys) { continue }
      for one in keys { _ = attempt(reference, [one]) }
    }
  }

  private mutating func attempt(_ reference: Reference, _ keys: [String]) -> Bool {
    var trial = self
    do {
      let lost = try trial.act(reference, keys)
      try trial.check(lost)
      if !trial.strays.isSubset(of: strays) { throw Refused() }
    } catch {
      return false
    }
    self = trial
    return true
  }

  /// - Returns: the rows that are gone.
  private mutating func act(_ reference: Reference, _ keys: [String]) throws -> [(String, String)] {
    var gone: [(String, String)] = []
    for key in keys where rows[reference.child]?[key] != nil {
      switch reference.action {
      case .nothing: break
      case .cascade:
        rows[reference.child]?[key] = nil
        gone.append((reference.child, key))
        for next in references where next.parent == reference.child {
          gone += try act(next, children(of: key, by: next))
        }
      case .setNull, .setDefault:
        let value = reference.action == .setNull ? nil : reference.standard
        if value == nil, reference.isRequired { throw Refused() }
        rows[reference.child]?[key]?[reference.column] = .some(value)
      }
    }
    return gone
  }

  /// What refers to a row that isn't there: SQLite looks at a statement's end for what is new.
  private var strays: Set<[String]> {
    var found: Set<[String]> = []
    for reference in references {
      for (key, row) in rows[reference.child] ?? [:] {
        guard let parent = row[reference.column] ?? nil, !holds(reference.parent, parent) else {
          continue
        }
        found.insert([reference.child, key, reference.column, parent])
      }
    }
    return found
  }

  /// Whether a row of these tables refers to one that this statement took away.
  private func check(_ gone: [(String, String)]) throws {
    for (table, key) in gone {
      for reference in references where reference.parent == table {
        if !children(of: key, by: reference).isEmpty { throw Refused() }
      }
    }
  }
}
