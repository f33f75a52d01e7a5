import Tern
import TernTesting

/// Checks that a ``ReplicaStore`` keeps what the protocol promises, through its interface. Both are
/// Tern's own: no app has a store to bring.
///
/// Every store under test has the same ``tables`` under ``schema``; SQL stores make them with
/// ``creationSQL``.
package struct ReplicaStoreConformance: Sendable {
  /// Tables of the same columns, by how their deletes merge.
  private static let deletes: [(table: String, rule: DeleteRule)] = [
    ("item", .deleteWins), ("kept", .updateWins), ("latest", .lastWriter),
  ]
  /// Tables with UNIQUE beside the key, the same.
  private static let labels: [(table: String, rule: DeleteRule)] = [
    ("label", .deleteWins), ("keptLabel", .updateWins), ("latestLabel", .lastWriter),
  ]
  package static let schema = SyncSchema(
    version: 3,
    tables: deletes.map {
      SyncTable(
        $0.table,
        merge: [
          "count": .counter, "high": .max, "low": .min, "tags": .set, "place": .order,
          "body": .text,
        ],
        deletes: $0.rule)
    } + labels.map { SyncTable($0.table, deletes: $0.rule) })
  package static let tables =
    deletes.map {
      MemoryTable(
        $0.table, key: ["id"],
        columns: ["name", "note", "count", "high", "low", "tags", "place", "body"])
    }
    + labels.map {
      MemoryTable(
        $0.table, key: ["id"], columns: ["name", "slot", "note"], uniques: [["name"], ["slot"]])
    }
  package static let creationSQL =
    (deletes.map {
      """
      CREATE TABLE \($0.table) (
        id TEXT NOT NULL PRIMARY KEY, name, note, count INTEGER NOT NULL DEFAULT 0, high, low,
        tags TEXT NOT NULL DEFAULT '[]', place TEXT,
        body TEXT NOT NULL DEFAULT '');
      """
    }
    + labels.map {
      """
      CREATE TABLE \($0.table) (id TEXT NOT NULL PRIMARY KEY, name UNIQUE, slot UNIQUE, note);
      """
    }).joined(separator: "\n")

  /// One local change to a row of one of the ``tables``; key and columns by name.
  package enum Change: Hashable, Sendable {
    /// Columns that are not named stand at their default.
    case insert([String: SQLiteValue], table: String = "item")
    case update([String: SQLiteValue], table: String = "item")
    case delete(id: SQLiteValue, table: String = "item")
    /// An insert that removes the rows that are in its way: `INSERT OR REPLACE`.
    case replace([String: SQLiteValue], table: String = "item")
  }

  /// A new, empty store and the app's way of writing to its table: all changes in one transaction.
  package struct Subject: Sendable {
    package var store: any ReplicaStore
    package var write: @Sendable ([Change]) throws -> Void

    package init(store: any ReplicaStore, write: @escaping @Sendable ([Change]) throws -> Void) {
      self.store = store
      self.write = write
    }
  }

  /// Makes a store with this identity. Its wall clock may be any that does not jump during a run.
  package let makeSubject: @Sendable (ReplicaID) throws -> Subject

  package init(_ makeSubject: @escaping @Sendable (ReplicaID) throws -> Subject) {
    self.makeSubject = makeSubject
  }

  /// Runs every scenario.
  ///
  /// - Throws: ``ConformanceFailure``, or what a store throws unasked.
  package func run() throws {
    for scenario in Scenario.allCases { try run(scenario) }
  }

  /// - Throws: ``ConformanceFailure``, or what a store throws unasked.
  package func run(_ scenario: Scenario) throws {
    switch scenario {
    case .seal: try checkSeal()
    case .log: try checkLog()
    case .repeats: try checkRepeats()
    case .gap: try checkGap()
    case .times: try checkTimes()
    case .foreignOwn: try checkForeignOwn()
    case .unreadable: try checkUnreadable()
    case .future: try checkFuture()
    case .large: try checkLarge()
    case .cursor: try checkCursor()
    case .seen: try checkSeen()
    case .fragments: try checkFragments()
    case .order: try checkOrder()
    case .lives: try checkLives()
    case .columns: try checkColumns()
    case .counters: try checkCounters()
    case .extremes: try checkExtremes()
    case .sets: try checkSets()
    case .unique: try checkUnique()
    case .swapped: try checkSwapped()
    case .replace: try checkReplace()
    case .places: try checkPlaces()
    case .texts: try checkTexts()
    case .updateWins: try checkUpdateWins()
    case .lastDelete: try checkLastDelete()
    case .restamp: try checkRestamp()
    case .restampedLoser: try checkRestampedLoser()
    case .offered:
      try checkOffered()
      try checkOfferWithinGroup()
    case .accepted: try checkAccepted()
    case .fork: try checkFork()
    case .toldFork: try checkToldFork()
    case .clock: try checkClock()
    }
  }

  /// One promise; its raw value says which.
  package enum Scenario: String, Hashable, Sendable, CaseIterable {
    case seal = "a seal makes one operation of everything noted, and none of nothing"
    case log = "the log gives contiguous pages that honour a byte limit"
    case repeats = "merging again changes nothing and counts repeats"
    case gap = "a gap is refused and nothing of its page is merged"
    case times = "a time that does not increase is refused"
    case foreignOwn = "own operations that the store never made are refused"
    case unreadable = "a group that cannot be read is put aside whole, and the rest is merged"
    case future = "a time far ahead waits for the clock, and takes nobody's along"
    case large = "a row that no operation can hold waits by name, and the rest goes on"
    case cursor = "a cursor moves with a merge and goes back only when told"
    case seen = "an operation says once what its author had merged"
    case fragments = "fragments of one group merge together"
    case order = "every interleaving and grouping makes the same state"
    case lives = "the longer life wins, and a new life begins anew"
    case columns = "edits to different columns both stay"
    case counters = "counters add in 128 bits and show what fits in 64"
    case extremes = "extremes stay, by SQLite's order over types"
    case sets = "a set keeps what somebody added and nobody who saw it took out"
    case unique = "of rows that collide in a UNIQUE index the first is shown, until it gives way"
    case swapped = "rows may pass unique values on to each other"
    case replace = "rows that a REPLACE removes are deleted everywhere"
    case places = "rows that are placed at one spot keep different keys, and the later move stays"
    case texts = "a text keeps every insertion whole, and what nobody removed who saw it"
    case updateWins = "under .updateWins a change that the delete had not seen keeps the row"
    case lastDelete = "under .lastWriter the later of delete and change stays"
    case restamp = "restamping keeps winners, and times increase"
    case restampedLoser = "a restamped write that had lost stands the same everywhere"
    case offered = "what another remote was offered keeps its time"
    case accepted = "what a remote accepted once keeps its time there, too"
    case fork = "another operation under a number stops that author at that remote, by name"
    case toldFork = "who meets two operations under a number tells their author, and the end of it"
    case clock = "a clock that is far off is corrected for"
  }
}
