import Foundation
import GRDB
import TernCore
import TernDatabase

/// Makes the log that of a replica with a new id. The state is made anew from it, or
/// renamed in place.
struct IDChangeStep {
  private let transaction: StoreTransaction
  private let renaming: Renaming
  private let own: AuthorRow
  /// The place of the former id among the authors.
  private let former: UInt32
  private var tables: StoreTables { transaction.tables }

  /// Of the last operation that stays the former id's.
  private let time: HybridTime

  enum Way {
    /// Everything is in the log.
    case anew
    /// States are renamed where they are: see ``StateRenaming``.
    case inPlace
  }

  init(_ transaction: StoreTransaction, _ renaming: Renaming) throws {
    self.transaction = transaction
    self.renaming = renaming
    own = transaction.authorTable.own
    former = UInt32(transaction.authors.ids.count)
    time =
      try transaction.log.time(of: LogID(author: 0, sequence: renaming.last), own) ?? .zero
  }

  var isAnyRenamed: Bool { own.stored > renaming.last }

  /// How, if nobody can have what the new id is given, and what is here is enough.
  func way(at remoteID: String) throws -> Way? {
    guard (own.trimmed...own.stored).contains(renaming.last),
      try transaction.remotes.accepted(by: remoteID) <= renaming.last,
      try transaction.remotes.lastOffered(besides: remoteID) <= renaming.last
    else { return nil }
    guard isAnyRenamed else { return .inPlace }
    guard renaming.last == 0 || time != .zero else {
      throw ReplicaError(.damaged, "the log lacks an operation that it acknowledged")
    }
    // A remote that has half a group of this one's and another half of the other's is beyond that.
    let last = LogID(author: 0, sequence: renaming.last)
    if try transaction.log.operation(last)?.envelope.continues ?? false { return nil }
    // What a table that syncs no more has in the log is merged into no state.
    let isAllSynced = try !exists("FROM \(tables.table) WHERE NOT is_synced")
    let isWhole = try transaction.authors.ids.indices.allSatisfy {
      try transaction.authorTable.row(UInt32($0)).trimmed == 0
    }
    if isAllSynced, isWhole { return .anew }
    // Somebody saw another copy's operations under these numbers, and what is merged of
    // theirs means those.
    let isMistaken = try exists(
      "FROM \(tables.seen) WHERE other = 0 AND sequence > \(renaming.last)")
    return isAllSynced && !isMistaken ? .inPlace : nil
  }

  private func exists(_ clause: String) throws -> Bool {
    try transaction.statement("SELECT 1 \(clause) LIMIT 1").first {} != nil
  }

  func run() throws {
    let last = Int64(renaming.last)
    // What an earlier new state took from this replica's own operations; what it announced
    // says it all.
    try execute("DELETE FROM \(tables.seen) WHERE author = 0")
    try execute("UPDATE \(tables.seen) SET other = ? WHERE other = 0", [Int64(former)])
    try renameOperations(announced())
    try saveAuthors()
    try execute("UPDATE \(tables.remoteHead) SET author = ? WHERE author = 0", [Int64(former)])
    for side in ["loser", "winner"] {
      try execute(
        "UPDATE \(tables.inbox) SET \(side) = ? WHERE \(side) = 0 AND \(side)_time <= ?",
        [Int64(former), Int64(bitPattern: time.rawValue)])
    }
    try execute("DELETE FROM \(tables.migrated) WHERE sequence <= ?", [last])
    try execute("UPDATE \(tables.migrated) SET sequence = sequence - ?", [last])
    try renameMarks()
    // The numbers were the former id's. What other copies wrote under that, every pull
    // has left out.
    try execute("DELETE FROM \(tables.offer)")
    // The new id tells of forks anew.
    try transaction.toldForks.forget(renaming.old)
    let cursor = Planted.isActive(.copyKeepsCursor) ? "cursor" : "NULL"
    try execute("UPDATE \(tables.remote) SET cursor = \(cursor), compared = NULL")
  }

  /// What the former id had said that it had seen.
  private func announced() throws -> VersionVector {
    let rows = try Row.fetchAll(
      transaction.db, sql: "SELECT id, announced FROM \(tables.author) WHERE idx > 0")
    return VersionVector(
      Dictionary(
        uniqueKeysWithValues: rows.compactMap { row in
          ReplicaID(bytes: Array(row["id"] as Data)).map { ($0, UInt64(row["announced"] as Int64)) }
        }))
  }

  private func renameOperations(_ announced: VersionVector) throws {
    let moved = try transaction.log.ids(of: 0, after: renaming.last)
    // What one of them says first, the former id had not said before.
    var seen = announced
    for id in moved {
      for replica in try transaction.log.operation(id)?.envelope.seen.sequences.keys ?? [:].keys {
        seen[replica] = 0
      }
    }
    try Concurrency(transaction).note(seen, by: former)
    let formerID = LogID(author: former, sequence: 0).rawValue
    let last = LogID(author: 0, sequence: renaming.last).rawValue
    for table in [tables.log, tables.waiting] {
      try execute("UPDATE \(table) SET id = id + ? WHERE id <= ?", [formerID, last])
    }
    for id in moved {
      guard let operation = try transaction.log.operation(id) else { continue }
      try transaction.log.drop(id)
      try execute(
        "UPDATE \(tables.waiting) SET id = id - ?1, first = first - ?1 WHERE id = ?2",
        [last, id.rawValue])
      if Planted.isActive(.copyForgets) { continue }
      // To a number that is free: all before are the former id's, or are renamed already.
      try transaction.log.append(renaming.renamed(operation, seen: seen), author: 0)
    }
  }

  /// What is known of the own operations that were undone or reverted, the former id's too.
  private func renameMarks() throws {
    let (last, end) = (Int64(renaming.last), LogID(author: 1, sequence: 0).rawValue)
    let formerID = LogID(author: former, sequence: 0).rawValue
    let columns = [
      (tables.undone, "sequence"), (tables.reverted, "id"), (tables.reverted, "revert"),
      (tables.reverted, "undone"),
    ]
    for (table, column) in columns {
      try execute(
        "UPDATE \(table) SET \(column) = \(column) + ? WHERE \(column) <= ?", [formerID, last])
      // The marks of other authors' operations stand behind all of this replica's.
      try execute("UPDATE \(table) SET \(column) = \(column) - ? WHERE \(column) < ?", [last, end])
    }
  }

  private func saveAuthors() throws {
    let count = Planted.isActive(.copyForgets) ? 0 : Int64(own.stored - renaming.last)
    let ownTime = count > 0 ? own.time : .zero
    let (old, new) = (Data(renaming.old.bytes), Data(renaming.new.bytes))
    let last = Int64(renaming.last)
    try execute("UPDATE \(tables.replica) SET id = ?", [new])
    try execute(
      """
      UPDATE \(tables.author)
      SET id = ?, stored = ?, merged = ?, time = ?, trimmed = 0, trimmed_time = 0 WHERE idx = 0
      """, [new, count, count, Int64(bitPattern: ownTime.rawValue)])
    // Nothing is seen by the new id until it says so.
    try execute("UPDATE \(tables.author) SET announced = 0")
    try execute(
      """
      INSERT INTO \(tables.author)
        (idx, id, stored, merged, announced, time, trimmed, trimmed_time)
      VALUES (?, ?, ?, ?, 0, ?, ?, ?)
      """,
      [
        Int64(former), old, last, last, Int64(bitPattern: time.rawValue), Int64(own.trimmed),
        Int64(bitPattern: own.trimmedTime.rawValue),
      ])
  }

  // MARK: - In place

  private var states: StateRenaming {
    StateRenaming(renaming, time: time, former: former, isAny: isAnyRenamed)
  }

  /// Renames what the states of all tables name, those of tables that sync no more too.
  func renameStates() throws {
    let states = states
    let function = DatabaseFunction("grdb_tern_renamed", argumentCount: 1, pure: true) { values in
      guard let cells = Data.fromDatabaseValue(values[0]) else { return nil }
      var writer = ByteWriter()
      let read = try cells.withUnsafeBytes { try RowState.readCells($0) }
      RowState(life: 1, cells: try states.renamed(read)).appendCells(to: &writer)
      return Data(writer.bytes)
    }
    transaction.db.add(function: function)
    defer { transaction.db.remove(function: function) }
    let bound = Planted.isActive(.copyTakesStates) ? -1 : Int64(bitPattern: time.rawValue)
    for id in try Int64.fetchAll(transaction.db, sql: "SELECT id FROM \(tables.table)") {
      try execute(
        """
        UPDATE \(tables.rows(of: id)) SET
          author = CASE WHEN author = 0 AND time <> 0 AND time <= ? THEN ? ELSE author END,
          cells = grdb_tern_renamed(cells)
        WHERE author = 0 OR cells IS NOT NULL
        """, [bound, Int64(former)])
    }
  }

  /// Puts back what the former id wrote last to rows that the new one wrote to later: a state has
  /// the last of each author alone. The log says it, as far back as it goes. And gives the new id
  /// what its operations added to counters.
  ///
  /// - Parameter changed: after ``run()``.
  func noteFormerWrites(_ changed: StoreTransaction) throws {
    guard isAnyRenamed else { return }
    let states = states
    for id in try changed.log.ids(of: former, after: own.trimmed) {
      try changeStates(writtenBy: id, in: changed) { state, _ in
        states.note(id.sequence, in: &state)
      }
    }
    for id in try changed.log.ids(of: 0, after: 0) {
      try changeStates(writtenBy: id, in: changed) { state, counts in
        for (column, difference) in counts { states.note(difference, addedTo: column, in: &state) }
        if own.trimmed > 0 { states.noteAny(upTo: own.trimmed, in: &state) }
      }
    }
  }

  /// Changes the states of the rows that an operation wrote, in the lives that they have now.
  ///
  /// - Parameter change: is given what the operation added, by column.
  private func changeStates(
    writtenBy id: LogID, in transaction: StoreTransaction,
    _ change: (inout RowState, [UInt32: Int128]) -> Void
  ) throws {
    var row = BodyRow()
    try transaction.log.operation(id)?.forEachBlock { block, reader in
      let known = transaction.sql.first { $0.shape.holdsRows(of: block) }
      let counters: [(place: Int, column: UInt32)] =
        known.map { known in
          known.shape.mapping(of: block).targets.enumerated().compactMap { place, target in
            let column = target.map { known.shape.columns[$0] }
            return column?.rule == .counter ? (place, UInt32(column!.id)) : nil
          }
        } ?? []
      while try reader.nextRow(&row, of: block) {
        guard let known, row.kind != .delete else { continue }
        let key = row.key.compactMap(\.value)
        guard var state = try transaction.states.state(of: key, known), state.life == row.life
        else { continue }
        let before = state
        var counts: [UInt32: Int128] = [:]
        for (place, column) in counters where row.isCarried[place] {
          counts[column] = row.values[place].wide
        }
        change(&state, counts)
        if state == before { continue }
        try transaction.states.put(state, of: key, known)
      }
    }
  }

  private func execute(_ sql: String, _ values: [any BindableValue] = []) throws {
    try transaction.db.runBound(transaction.connection.text(of: sql), values)
  }
}
