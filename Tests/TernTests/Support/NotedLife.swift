import Tern

/// What an app does with one row between two seals; each is a kind of note, or several.
enum Deed: String, CaseIterable {
  case insert, edit, touch, delete, rename
  /// REPLACE under the row's own key, which fires no delete trigger.
  case replace
  /// An insert under the row's own key that is ignored.
  case ignored
  /// An insert of another row that holds the same in a UNIQUE index, and is ignored.
  case rivalIgnored
  /// The same by REPLACE: the row goes, and fires nothing.
  case rivalReplaces

  var needsRow: Bool { self != .insert }
}

/// Where the row stands at the last seal.
enum Beginning: String, CaseIterable {
  case never, alive, dead
  /// A migration brought it, and no state has it.
  case migrated
  /// The same of a key that was deleted before.
  case migratedAgain

  var isThere: Bool { [.alive, .migrated, .migratedAgain].contains(self) }
  var isMigrated: Bool { [.migrated, .migratedAgain].contains(self) }
}

/// A row's life between two seals, and what a seal has to make of it: told by what happened to the
/// row, and by nothing that Tern notes.
struct NotedLife {
  let beginning: Beginning
  let deeds: [Deed]
  private(set) var statements: [String] = []
  private(set) var isThere: Bool
  private(set) var a = "begun"
  private(set) var n = 10
  /// Columns that were written.
  private var written: Set<String> = []
  /// Those that were written before the row was deleted for the first time.
  private var writtenBeforeEnd: Set<String>?
  private var unique: String

  var key: String { "\(beginning) \(deeds.map(\.rawValue).joined(separator: " "))" }

  /// `nil` where a deed needs another row than there is.
  init?(_ beginning: Beginning, _ deeds: [Deed]) {
    self.beginning = beginning
    self.deeds = deeds
    isThere = beginning.isThere
    unique = ""
    unique = key
    for (step, deed) in deeds.enumerated() {
      if deed.needsRow != isThere { return nil }
      perform(deed, "\(step)")
    }
  }

  /// Every life of so many deeds.
  static func all(of count: Int, from beginnings: [Beginning]) -> [NotedLife] {
    var sequences: [[Deed]] = [[]]
    for _ in 0..<count {
      sequences = sequences.flatMap { sequence in Deed.allCases.map { sequence + [$0] } }
    }
    return beginnings.flatMap { beginning in sequences.compactMap { NotedLife(beginning, $0) } }
  }

  private mutating func perform(_ deed: Deed, _ step: String) {
    let other = "\(key)/\(step)"
    switch deed {
    case .insert, .replace:
      (a, n, unique) = (step, Int(step)!, other)
      let verb = deed == .insert ? "INSERT" : "REPLACE"
      statements.append("\(verb) INTO t VALUES ('\(key)', '\(unique)', '\(a)', \(n), 'l')")
      written = ["u", "a", "n"]
      isThere = true
    case .edit:
      (a, n) = (step, n + 7)
      statements.append("UPDATE t SET a = '\(a)', n = n + 7 WHERE id = '\(key)'")
      written.formUnion(["a", "n"])
    case .touch: statements.append("UPDATE t SET a = a WHERE id = '\(key)'")
    case .delete:
      statements.append("DELETE FROM t WHERE id = '\(key)'")
      end()
    case .rename:
      statements.append("UPDATE t SET id = '\(other)' WHERE id = '\(key)'")
      end()
    case .ignored:
      statements.append("INSERT OR IGNORE INTO t VALUES ('\(key)', '\(other)', '', 0, 'l')")
    case .rivalIgnored:
      statements.append("INSERT OR IGNORE INTO t VALUES ('\(other)', '\(unique)', '', 0, 'l')")
    case .rivalReplaces:
      statements.append("REPLACE INTO t VALUES ('\(other)', '\(unique)', '', 0, 'l')")
      isThere = false
    }
  }

  private mutating func end() {
    isThere = false
    writtenBeforeEnd = writtenBeforeEnd ?? written
  }

  /// The row's changes in the order in which they travel, each with its columns.
  ///
  /// - Parameter keepsContent: whether the table keeps what deleted rows held, and so their last
  ///   writes travel too.
  func travels(keepsContent: Bool) -> [NotedChange] {
    switch (beginning, isThere) {
    case (.alive, true): written.isEmpty ? [] : [.written(written)]
    case (.alive, false):
      keepsContent && !(writtenBeforeEnd ?? written).isEmpty
        ? [.written(writtenBeforeEnd ?? written), .deleted] : [.deleted]
    case (_, true): written.isEmpty ? [] : [.inserted]
    case (.never, false), (.dead, false): []
    case (.migrated, false), (.migratedAgain, false): [.deleted]
    }
  }

  /// Whether an undo has to leave the row, because nobody knows what a migration put into it.
  var isMigrated: Bool { isThere && beginning.isMigrated && !written.isEmpty }
}

/// What an operation has of one row.
enum NotedChange: Equatable, CustomStringConvertible {
  case inserted, deleted
  case written(Set<String>)

  var description: String {
    switch self {
    case .inserted: "inserted"
    case .deleted: "deleted"
    case .written(let columns): "written \(columns.sorted().joined(separator: " "))"
    }
  }
}
