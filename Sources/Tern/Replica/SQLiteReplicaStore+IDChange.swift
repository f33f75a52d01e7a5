import Foundation
import GRDB
import TernCore

extension SQLiteReplicaStore {
  public func accepted(by remoteID: String) throws -> UInt64 {
    try read { try $0.accepted(by: remoteID) }
  }

  public func changeID(from former: ReplicaID, after last: UInt64, at remoteID: String) throws
    -> ReplicaIDChange?
  {
    let change = try transaction(withoutForeignKeys: true) { transaction -> ReplicaIDChange? in
      let id = ReplicaID(high: random(), low: random())
      let renaming = Renaming(from: former, after: last, to: id)
      guard transaction.ownID == former,
        try IDChangeStep(transaction, renaming).isPossible(at: remoteID)
      else { return nil }
      _ = try Seal.run(in: transaction)
      try IDChangeStep(transaction, renaming).run()
      let version = transaction.schemaVersion
      let changed = try StoreTransaction(
        transaction.db, tables: tables, sql: sql, recorder: transaction.recorder,
        inboxLimits: transaction.inboxLimits)
      try KeptTables(changed).keeping {
        _ = try SnapshotLoad(changed, isRepairing: false, forks: nil) {
          try Self.emptySnapshot(version, part: $0)
        }.run()
      }
      try CrashPoint.reach(.snapshotBeforeCommit)
      return ReplicaIDChange(former: former, last: last, current: id)
    }
    // What was sealed may be what a row held aside was waiting for.
    if change != nil { try settle() }
    return change
  }

  /// Of a replica that holds nothing: all that is in the log is merged again on top of it.
  private static func emptySnapshot(_ version: UInt32, part index: Int) throws -> [UInt8]? {
    var writer = ByteWriter()
    switch index {
    case 0:
      writer.append(byte: SnapshotPart.Kind.heading.rawValue)
      SnapshotHeading(schemaVersion: version, authors: []).append(to: &writer)
    case 1:
      writer.append(byte: SnapshotPart.Kind.end.rawValue)
      writer.append(varint: 0)
    default: return nil
    }
    return try SnapshotPart.encoded(writer.bytes)
  }
}

/// Makes the log that of a replica with a new id; the state is made anew by ``SnapshotLoad`` then.
private struct IDChangeStep {
  private let transaction: StoreTransaction
  private let renaming: Renaming
  private let own: StoreTransaction.AuthorRow
  /// The place of the former id among the authors.
  private let former: UInt32
  private var tables: StoreTables { transaction.tables }

  init(_ transaction: StoreTransaction, _ renaming: Renaming) throws {
    self.transaction = transaction
    self.renaming = renaming
    own = try transaction.author(0)
    former = UInt32(transaction.authors.ids.count)
  }

  /// Whether nobody can have what the new id is given, and a state can be made of what is here.
  func isPossible(at remoteID: String) throws -> Bool {
    guard (own.trimmed...own.stored).contains(renaming.last),
      try transaction.accepted(by: remoteID) <= renaming.last,
      try transaction.lastOffered(besides: remoteID) <= renaming.last
    else { return false }
    // A remote that has half a group of this one's and another half of the other's is beyond that.
    let last = LogID(author: 0, sequence: renaming.last)
    if try transaction.operation(last)?.envelope.continues ?? false { return false }
    // The states of a table that syncs no more would keep the former id's place for the new one's.
    guard
      try Row.fetchOne(
        transaction.db, sql: "SELECT 1 FROM \(tables.table) WHERE NOT is_synced LIMIT 1") == nil
    else { return false }
    return try transaction.authors.ids.indices.allSatisfy {
      try transaction.author(UInt32($0)).trimmed == 0
    }
  }

  func run() throws {
    let last = Int64(renaming.last)
    let time = try transaction.time(of: LogID(author: 0, sequence: renaming.last), own) ?? .zero
    try renameOperations(try announced())
    try saveAuthors(time)
    for column in ["author", "other"] {
      try execute("UPDATE \(tables.seen) SET \(column) = ? WHERE \(column) = 0", [former])
    }
    try execute("UPDATE \(tables.remoteHead) SET author = ? WHERE author = 0", [former])
    for side in ["loser", "winner"] {
      try execute(
        "UPDATE \(tables.inbox) SET \(side) = ? WHERE \(side) = 0 AND \(side)_time <= ?",
        [former, Int64(bitPattern: time.rawValue)])
    }
    try execute("DELETE FROM \(tables.undone) WHERE sequence <= ?", [last])
    try execute("UPDATE \(tables.undone) SET sequence = sequence - ?", [last])
    // The numbers were the former id's. What other copies wrote under that, every pull has left out.
    try execute("DELETE FROM \(tables.offer)")
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
    let moved = try transaction.logIDs(of: 0, after: renaming.last)
    // What one of them says first, the former id had not said before.
    var seen = announced
    for id in moved {
      for replica in try transaction.operation(id)?.envelope.seen.sequences.keys ?? [:].keys {
        seen[replica] = 0
      }
    }
    try execute(
      "UPDATE \(tables.log) SET id = id + ? WHERE id <= ?",
      [
        LogID(author: former, sequence: 0).rawValue,
        LogID(author: 0, sequence: renaming.last).rawValue,
      ])
    for id in moved {
      guard let operation = try transaction.operation(id) else { continue }
      try transaction.dropFromLog(id)
      if Planted.isActive(.copyForgets) { continue }
      // To a number that is free: all before are the former id's, or are renamed already.
      try transaction.appendToLog(renaming.renamed(operation, seen: seen), author: 0)
    }
  }

  private func saveAuthors(_ time: HybridTime) throws {
    let count = Int64(own.stored - renaming.last)
    let ownTime = count > 0 ? own.time : .zero
    let (old, new) = (Data(renaming.old.bytes), Data(renaming.new.bytes))
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
        former, old, Int64(renaming.last), Int64(renaming.last), Int64(bitPattern: time.rawValue),
        Int64(own.trimmed), Int64(bitPattern: own.trimmedTime.rawValue),
      ])
  }

  private func execute(_ sql: String, _ arguments: StatementArguments = []) throws {
    try transaction.db.execute(sql: sql, arguments: arguments)
  }
}

extension StoreTransaction {
  /// Up to which own operation any other remote may have been given them.
  fileprivate func lastOffered(besides remoteID: String) throws -> UInt64 {
    let select = try statement(
      "SELECT ifnull(max(sequence), 0) FROM \(tables.offer) WHERE remote <> ?")
    select.bind(1, copy: .string(remoteID))
    defer { select.reset() }
    return try select.step() ? select.raw(0) : 0
  }
}
