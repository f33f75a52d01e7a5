import GRDB

extension LocalReferences {
  /// Those to a replica's synced tables. The tables of other replicas in the file sync too.
  init(_ db: Database, _ sql: [TableSQL], _ tables: StoreTables) throws {
    var ofOthers: Set<String> = []
    for name in try StoreTables.replicas(in: db) {
      let other = StoreTables(name: name)
      if other.prefix == tables.prefix { continue }
      ofOthers.formUnion(
        try InstalledTable.all(db, other).filter(\.isSynced).map(\.name.folded))
    }
    try self.init(db, sql.map(\.shape), ofOthers: ofOthers)
  }
}
