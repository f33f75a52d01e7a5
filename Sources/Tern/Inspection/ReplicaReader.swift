import Foundation
import GRDB
import TernCore

/// Reads what a replica keeps, by name of its tables alone: no schema of the app's is needed.
struct ReplicaReader {
  let db: Database
  let path: String
  let name: String
  private let tables: StoreTables
  private let connection: StoreConnection

  private init(_ db: Database, path: String, name: String) throws {
    self.db = db
    self.path = path
    self.name = name
    tables = try StoreTables.stored(name: name, in: db)
    connection = StoreConnection(db, tables, memory: nil)
  }

  /// Every replica in the database, by name.
  static func all(in db: Database, path: String) throws -> [ReplicaInspection] {
    try StoreTables.replicas(in: db).compactMap {
      try ReplicaReader(db, path: path, name: $0).inspection()
    }
  }

  /// `nil` for a replica whose first `open` did not end.
  private func inspection() throws -> ReplicaInspection? {
    try ViewForTable.refuse(in: db, prefix: tables.prefix, path: path)
    guard let format = try Int.fetchOne(db, sql: "SELECT format FROM \(tables.replica)") else {
      return nil
    }
    guard format <= StoreTables.format else {
      throw InspectionError(.newerFormat, path: path)
    }
    guard let replica = try Row.fetchOne(db, sql: "SELECT * FROM \(tables.replica)") else {
      return nil
    }
    let synced = try inspectedTables()
    let authors = try authors()
    let id = ReplicaID(bytes: replica["id"] as Data)
    let waiting = WaitingTable(connection, hasGroups: true, hasFuture: true)
    return ReplicaInspection(
      name: name, id: id, format: format,
      schemaVersion: replica["schema_version"],
      lastTimeMilliseconds: HybridTime(
        rawValue: UInt64(bitPattern: replica["last_time"] as Int64)
      ).milliseconds,
      clockCorrectionMilliseconds: replica["correction_ms"], authors: authors,
      remotes: try remotes(), log: try log(),
      unsealedChanges: synced.reduce(0) { $0 + $1.unsealedChanges }, tables: synced,
      quarantined: synced.reduce(into: [:]) { $0.merge($1.quarantined, uniquingKeysWith: +) },
      pending: try waiting.summary(authors: authors.map(\.id)),
      pendingOperations: try waiting.list(authors: authors.map(\.id), limit: 100),
      conflicts: try counts("SELECT kind, count FROM \(tables.conflict)"), forks: try forks(of: id),
      storage: try TableSizes(db: db, prefix: tables.prefix).all())
  }

  private func authors() throws -> [ReplicaInspection.Author] {
    try Row.fetchAll(db, sql: "SELECT id, stored, merged FROM \(tables.author) ORDER BY idx")
      .map { row in
        ReplicaInspection.Author(
          id: ReplicaID(bytes: row["id"] as Data),
          stored: UInt64(clamping: row["stored"] as Int64),
          merged: UInt64(clamping: row["merged"] as Int64))
      }
  }

  private func remotes() throws -> [ReplicaInspection.Remote] {
    let table = RemoteTable(connection)
    return try Row.fetchAll(
      db, sql: "SELECT id, epoch, cursor FROM \(tables.remote) ORDER BY id"
    ).map {
      let id: String = $0["id"]
      return .init(
        id: id, epoch: $0["epoch"], cursor: $0["cursor"], accepted: try table.accepted(by: id))
    }
  }

  /// - Parameter id: this replica's.
  private func forks(of id: ReplicaID?) throws -> [ReplicaFork] {
    let forks = try connection.text(
      of: """
        SELECT fork.remote, author.id, fork.sequence FROM \(tables.fork) AS fork
        JOIN \(tables.author) AS author ON author.idx = fork.author
        ORDER BY fork.remote, fork.author LIMIT 100
        """)
    let met = try Row.fetchAll(db, sql: forks).compactMap { row in
      ReplicaID(bytes: row["id"] as Data).map {
        ReplicaFork(
          remote: row["remote"], replica: $0,
          sequence: UInt64(bitPattern: row["sequence"] as Int64))
      }
    }
    return try met + (id.map { try ToldForkTable(connection).forks(besides: $0) } ?? [])
  }

  private func log() throws -> ReplicaInspection.Log {
    let row = try Row.fetchOne(
      db, sql: "SELECT count(*) AS n, ifnull(sum(length(bytes)), 0) AS bytes FROM \(tables.log)")
    return .init(operations: row?["n"] ?? 0, bytes: row?["bytes"] ?? 0)
  }

  private func inspectedTables() throws -> [ReplicaInspection.Table] {
    // A Tern before this one did not make the table.
    let hasLarge = try db.tableExists(tables.large, in: "main")
    return try Row.fetchAll(
      db, sql: "SELECT id, name, is_synced FROM \(tables.table) ORDER BY id"
    ).map {
      let id: Int64 = $0["id"]
      let (rowTable, noteTable) = (tables.rows(of: id), tables.notes(of: id))
      let hasRows = try db.tableExists(rowTable, in: "main")
      // An odd life is alive; at 0 only columns arrived, and no insert.
      let lives = try Row.fetchOne(
        db,
        sql: """
          SELECT ifnull(sum(life % 2 = 1), 0) AS alive,
            ifnull(sum(life > 0 AND life % 2 = 0), 0) AS dead
          FROM \(hasRows ? rowTable : "(SELECT 0 AS life WHERE 0)")
          """)
      // Where a change may bring a deleted row back, its life goes on.
      let kept = try count("\(tables.kept) WHERE tbl = \(id)")
      return ReplicaInspection.Table(
        name: $0["name"], isSynced: $0["is_synced"], aliveRows: (lives?["alive"] ?? 0) - kept,
        deadRows: (lives?["dead"] ?? 0) + kept,
        quarantined: try quarantined(of: id),
        unsealedChanges: try db.tableExists(noteTable, in: "main") ? count(noteTable) : 0,
        largeRows: hasLarge ? try count("\(tables.large) WHERE tbl = \(id)") : 0)
    }
  }

  /// By the inbox's words.
  private func quarantined(of table: Int64) throws -> [String: Int] {
    let reasons = try counts(
      "SELECT reason, count(*) FROM \(tables.held) WHERE tbl = \(table) AND \(HeldReason.isOutOfTable) "
        + "GROUP BY reason")
    return reasons.reduce(into: [:]) { kinds, reason in
      kinds[HeldReason(rawValue: reason.key)?.word ?? reason.key] = reason.value
    }
  }

  private func count(_ table: String) throws -> Int {
    try connection.count(table)
  }

  /// A name and a number a row.
  private func counts(_ sql: String) throws -> [String: Int] {
    try Row.fetchAll(db, sql: connection.text(of: sql)).reduce(into: [:]) {
      $0[$1[0] as String] = $1[1] as Int
    }
  }
}
