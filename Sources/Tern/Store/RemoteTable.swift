import Foundation
import TernCore
import TernDatabase

/// What a replica knows of each remote: where it stands there, what that has of this replica, and
/// what it said of authors.
struct RemoteTable {
  private let connection: StoreConnection
  private var tables: StoreTables { connection.tables }

  init(_ connection: StoreConnection) {
    self.connection = connection
  }

  func place(at remoteID: String) throws -> RemotePlace? {
    let select = try statement("SELECT epoch, cursor FROM \(tables.remote) WHERE id = ?", remoteID)
    return try select.first {
      RemotePlace(
        remoteID: remoteID, epoch: select.value(0).value?.string ?? "",
        cursor: select.value(1).value?.string.map(RemoteCursor.init(rawValue:)))
    }
  }

  func save(_ place: RemotePlace) throws {
    let statement = try statement(
      """
      INSERT INTO \(tables.remote) (id, epoch, cursor) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET epoch = excluded.epoch, cursor = excluded.cursor
      """, place.remoteID)
    statement.bind(2, copy: .string(place.epoch))
    statement.bind(3, copy: place.cursor.map { .string($0.rawValue) } ?? .null)
    try statement.run()
  }

  /// - Returns: whether anything was known of it.
  func forget(_ remoteID: String) throws -> Bool {
    var wasKnown = try !authors(at: remoteID).isEmpty
    try save([:], at: remoteID)
    for (table, column) in [
      (tables.remote, "id"), (tables.remoteHead, "remote"), (tables.fork, "remote"),
    ] {
      let delete = try statement("DELETE FROM \(table) WHERE \(column) = ?", remoteID)
      try delete.run()
      if delete.changeCount > 0 { wasKnown = true }
    }
    let insert = try statement(
      "INSERT OR IGNORE INTO \(tables.forgotten) SELECT remote FROM \(tables.offer) WHERE remote = ?",
      remoteID)
    try insert.run()
    return wasKnown || insert.changeCount > 0
  }

  // MARK: - What it has of this replica

  /// Up to which own operation it may have them, whatever became of the push.
  func offered(to remoteID: String) throws -> UInt64 {
    try sequence("SELECT sequence FROM \(tables.offer) WHERE remote = ?", remoteID)
  }

  func saveOffer(_ sequence: UInt64, to remoteID: String) throws {
    try save(sequence, "sequence", at: remoteID)
  }

  /// Up to which own operation it acknowledged them.
  func accepted(by remoteID: String) throws -> UInt64 {
    try sequence("SELECT accepted FROM \(tables.offer) WHERE remote = ?", remoteID)
  }

  func saveAccepted(_ sequence: UInt64, by remoteID: String) throws {
    try save(sequence, "accepted", at: remoteID)
  }

  private func save(_ sequence: UInt64, _ column: String, at remoteID: String) throws {
    let statement = try statement(
      """
      INSERT INTO \(tables.offer) (remote, sequence, accepted) VALUES (?1, ?2, 0)
      ON CONFLICT DO UPDATE SET \(column) = max(\(column), ?2)
      """, remoteID)
    statement.bind(2, raw: sequence)
    try statement.run()
    try self.statement("DELETE FROM \(tables.forgotten) WHERE remote = ?", remoteID).run()
  }

  /// Up to which own operation none gets another time because of this remote's clock: others may
  /// have what another remote was offered, and what this one accepted once, whatever it has now.
  func lastFixed(at remoteID: String) throws -> UInt64 {
    try sequence(
      """
      SELECT ifnull(max(CASE remote WHEN ? THEN accepted ELSE sequence END), 0)
      FROM \(tables.offer)
      """, remoteID)
  }

  /// Up to which own operation any other remote may have been given them.
  func lastOffered(besides remoteID: String? = nil) throws -> UInt64 {
    try sequence(
      "SELECT ifnull(max(sequence), 0) FROM \(tables.offer) WHERE remote IS NOT ?", remoteID)
  }

  // MARK: - Forks

  /// By author the first number under which the remote has another operation.
  func forks(at remoteID: String) throws -> [UInt32: UInt64] {
    let select = try statement(
      "SELECT author, sequence FROM \(tables.fork) WHERE remote = ?", remoteID)
    var forks: [UInt32: UInt64] = [:]
    try select.each { forks[UInt32(truncatingIfNeeded: select.int64(0))] = select.raw(1) }
    return forks
  }

  func saveFork(_ author: UInt32, _ sequence: UInt64, at remoteID: String) throws {
    let put = try statement(
      "REPLACE INTO \(tables.fork) (remote, author, sequence) VALUES (?, ?, ?)", remoteID)
    put.bind(2, Int64(author))
    put.bind(3, raw: sequence)
    try put.run()
  }

  func dropFork(_ author: UInt32, at remoteID: String) throws {
    let delete = try statement(
      "DELETE FROM \(tables.fork) WHERE remote = ? AND author = ?", remoteID)
    delete.bind(2, Int64(author))
    try delete.run()
  }

  /// ``forks(at:)`` with the replicas' names, in the order of their ids.
  func forks(at remoteID: String, _ authors: Authors) throws -> [ReplicaFork] {
    try forks(at: remoteID).map {
      ReplicaFork(remote: remoteID, replica: authors.ids[Int($0)], sequence: $1)
    }.sorted { $0.replica < $1.replica }
  }

  /// Those of whom a remote with these heads does not hold so many operations.
  func dropForks(at remoteID: String, beyond heads: VersionVector, _ authors: Authors) throws {
    for (author, sequence) in try forks(at: remoteID)
    where heads[authors.ids[Int(author)]] < sequence {
      try dropFork(author, at: remoteID)
    }
  }

  func hasForks() throws -> Bool { try connection.count(tables.fork) > 0 }

  /// Over all remotes, by author the first number; as many as one notice names.
  func forkedAuthors(_ authors: [ReplicaID]) throws -> [ReplicaID: UInt64] {
    let select = try connection.statement(
      """
      SELECT author, min(sequence) FROM \(tables.fork) GROUP BY author ORDER BY author
      LIMIT \(BodyLimit.columns)
      """)
    var sequences: [ReplicaID: UInt64] = [:]
    try select.each { sequences[authors[Int(select.int64(0))]] = select.raw(1) }
    return sequences
  }

  /// The first hundred, over all remotes.
  ///
  /// - Parameter authors: in the log's order.
  func forks(_ authors: [ReplicaID]) throws -> [ReplicaFork] {
    let select = try connection.statement(
      "SELECT remote, author, sequence FROM \(tables.fork) ORDER BY remote, author LIMIT 100")
    var forks: [ReplicaFork] = []
    try select.each {
      forks.append(
        ReplicaFork(
          remote: select.text(0), replica: authors[Int(select.int64(1))], sequence: select.raw(2)))
    }
    return forks
  }

  // MARK: - What it said of authors

  /// - Parameter remoteID: `nil` for what all said, the first by name before others.
  func authors(at remoteID: String? = nil) throws -> [ReplicaID: RemoteAuthor] {
    try told("authors", at: remoteID) { one, _ in one }
  }

  /// Up to where replicas are taken that some remote has banned.
  func bans() throws -> [ReplicaID: UInt64] { try told("bans", at: nil, min) }

  private func told<Told: Decodable>(
    _ column: String, at remoteID: String?, _ choose: (Told, Told) -> Told
  ) throws -> [ReplicaID: Told] {
    let select = try statement(
      """
      SELECT \(column) FROM \(tables.remoteAuthors)
      WHERE \(column) IS NOT NULL AND (?1 IS NULL OR remote = ?1) ORDER BY remote
      """, remoteID)
    var all: [ReplicaID: Told] = [:]
    try select.each {
      // What can't be read is told again.
      let told = try? JSONDecoder().decode([String: Told].self, from: Data(select.blob(0)))
      for (text, value) in told ?? [:] {
        guard let replica = ReplicaID(text) else { continue }
        all[replica] = all[replica].map { choose($0, value) } ?? value
      }
    }
    return all
  }

  /// Takes note of what a remote says of its authors, in place of what it said before.
  ///
  /// - Parameter authors: none for a remote that says nothing any more.
  func save(_ authors: [ReplicaID: RemoteAuthor], at remoteID: String) throws {
    let known = try self.authors(at: remoteID)
    let bans = authors.compactMapValues(\.bannedAfter)
    if authors.isEmpty {
      try statement("DELETE FROM \(tables.remoteAuthors) WHERE remote = ?", remoteID).run()
    } else {
      let upsert = try statement(
        """
        INSERT INTO \(tables.remoteAuthors) (remote, authors, bans) VALUES (?1, ?2, ?3)
        ON CONFLICT (remote) DO UPDATE SET authors = excluded.authors, bans = excluded.bans
        """, remoteID)
      upsert.bind(2, copy: .blob(try encoded(authors)))
      upsert.bind(3, copy: bans.isEmpty ? .null : .blob(try encoded(bans)))
      try upsert.run()
    }
    // What other remotes have and a ban kept out comes again.
    let isLifted = known.contains { replica, author in
      author.bannedAfter.map { $0 < bans[replica] ?? .max } ?? false
    }
    if isLifted { try connection.statement("UPDATE \(tables.remote) SET cursor = NULL").run() }
  }

  private func encoded(_ values: [ReplicaID: some Encodable]) throws -> [UInt8] {
    let named = values.map { ($0.key.description, $0.value) }
    return try Array(JSONEncoder().encode(Dictionary(uniqueKeysWithValues: named)))
  }

  // MARK: - Comparisons of states

  func comparison(at remoteID: String) throws -> StateComparison? {
    let select = try statement("SELECT compared FROM \(tables.remote) WHERE id = ?", remoteID)
    let bytes = try select.first { select.isNull(0) ? nil : Data(select.blob(0)) } ?? nil
    // Whatever can't be read is found again.
    return bytes.flatMap { try? JSONDecoder().decode(StateComparison.self, from: $0) }
  }

  /// Nothing where the remote is not known.
  func save(_ comparison: StateComparison, at remoteID: String) throws {
    let update = try statement("UPDATE \(tables.remote) SET compared = ?2 WHERE id = ?1", remoteID)
    update.bind(2, copy: .blob(try Array(JSONEncoder().encode(comparison))))
    try update.run()
  }

  // MARK: - Statements

  /// A statement whose first parameter is a remote.
  private func statement(_ sql: String, _ remoteID: String?) throws -> FastStatement {
    let statement = try connection.statement(sql)
    statement.bind(1, copy: remoteID.map { .string($0) } ?? .null)
    return statement
  }

  private func sequence(_ sql: String, _ remoteID: String?) throws -> UInt64 {
    let select = try statement(sql, remoteID)
    return try select.first { select.raw(0) } ?? 0
  }
}
