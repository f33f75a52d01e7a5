import Foundation
import GRDB
import TernCore
import TernDatabase

extension SQLiteReplicaStore {
  package func note(_ authors: [ReplicaID: RemoteAuthor], at remoteID: String) throws {
    let known = try read { try $0.remoteAuthors(at: remoteID) }
    if known == authors { return }
    try transaction { transaction in
      let bans = authors.compactMapValues(\.bannedAfter)
      let upsert = try transaction.statement(
        """
        INSERT INTO \(tables.remoteAuthors) (remote, authors, bans) VALUES (?1, ?2, ?3)
        ON CONFLICT (remote) DO UPDATE SET authors = excluded.authors, bans = excluded.bans
        """)
      upsert.bind(1, copy: .string(remoteID))
      upsert.bind(2, copy: .blob(try encoded(authors)))
      upsert.bind(3, copy: bans.isEmpty ? .null : .blob(try encoded(bans)))
      try upsert.run()
      // What other remotes have and a ban kept out comes again.
      let isLifted = known.contains { replica, author in
        author.bannedAfter.map { $0 < bans[replica] ?? .max } ?? false
      }
      if isLifted {
        try transaction.statement("UPDATE \(tables.remote) SET cursor = NULL").run()
      }
    }
  }
}

extension StoreTransaction {
  /// What a remote said of its authors; `nil` for what all said, the first by name before others.
  func remoteAuthors(at remoteID: String? = nil) throws -> [ReplicaID: RemoteAuthor] {
    try told("authors", at: remoteID) { one, _ in one }
  }

  /// Up to where replicas are taken that some remote has banned.
  func bans() throws -> [ReplicaID: UInt64] { try told("bans", at: nil, min) }

  private func told<Told: Decodable>(
    _ column: String, at remoteID: String?, _ choose: (Told, Told) -> Told
  ) throws -> [ReplicaID: Told] {
    // A file that only an earlier version has opened lacks it.
    guard try db.tableExists(tables.remoteAuthors) else { return [:] }
    let select = try statement(
      """
      SELECT \(column) FROM \(tables.remoteAuthors)
      WHERE \(column) IS NOT NULL AND (?1 IS NULL OR remote = ?1) ORDER BY remote
      """)
    select.bind(1, copy: remoteID.map { .string($0) } ?? .null)
    defer { select.reset() }
    var all: [ReplicaID: Told] = [:]
    while try select.step() {
      // What can't be read is told again.
      let told = try? JSONDecoder().decode([String: Told].self, from: Data(select.blob(0)))
      for (text, value) in told ?? [:] {
        guard let replica = ReplicaID(text) else { continue }
        all[replica] = all[replica].map { choose($0, value) } ?? value
      }
    }
    return all
  }
}

private func encoded(_ values: [ReplicaID: some Encodable]) throws -> [UInt8] {
  let named = values.map { ($0.key.description, $0.value) }
  return try Array(JSONEncoder().encode(Dictionary(uniqueKeysWithValues: named)))
}
