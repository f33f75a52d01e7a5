import GRDB
import Tern
import TernTesting
import TestDevice

/// What holds in a drawn world.
extension DrawnWorld {
  /// A copy of a database, of which Tern's part is taken away.
  func bare(_ database: any DatabaseWriter) throws -> DatabaseQueue {
    let twin = try DatabaseQueue()
    try database.backup(to: twin)
    try twin.writeWithoutTransaction { db in
      for kind in ["trigger", "table"] {
        let names = try String.fetchAll(
          db, sql: "SELECT name FROM sqlite_master WHERE type = ? AND name GLOB 'grdb_tern_*'",
          arguments: [kind])
        for name in names { try db.execute(sql: "DROP \(kind) \(name.quotedForSQL)") }
      }
    }
    return twin
  }

  func expectEqual(
    _ phone: Phone, _ twin: DatabaseQueue, after what: String, withPointers: Bool = true
  ) throws {
    let schema = schema(of: phone)
    let queries =
      schema.tables.map { table in
        let columns = table.columns.filter { withPointers || !$0.isPointer }
        return Self.query(table, (table.keys + columns).map(\.quoted))
      }
      + schema.mirrors.map { $0.0 + " ORDER BY 1" }
    for query in queries {
      let shown = try phone.device.column(query)
      let twins = try twin.read { try String?.fetchAll($0, sql: query) }
      guard shown == twins else {
        throw fail("after \(what): \(query) gives \(shown), and without Tern \(twins)")
      }
    }
  }

  private static func query(_ table: DrawnSchema.Table, _ columns: [String]) -> String {
    let values = columns.map { "typeof(\($0)) || quote(\($0))" }.joined(separator: " || '|' || ")
    return "SELECT \(values) FROM \(table.quoted) ORDER BY 1"
  }

  /// What the app's mirrors have too much or too little: a REPLACE of the app's own takes rows away
  /// through a UNIQUE index, for which SQLite fires no trigger.
  func stale(_ phone: Phone) throws -> Set<String?> {
    var stale: Set<String?> = []
    guard phone.hasTriggers else { return stale }
    for (number, (mirror, content)) in schema(of: phone).mirrors.enumerated() {
      let (left, right) = (try phone.device.column(mirror), try phone.device.column(content))
      stale.formUnion(Set(left).symmetricDifference(right).map { "\(number): \($0 ?? "NULL")" })
    }
    return stale
  }

  /// A mirror that was equal to a rebuild stays so.
  func expectNoStale(_ phone: Phone, but known: Set<String?>, after what: String) throws {
    let new = try stale(phone).subtracting(known)
    guard new.isEmpty else { throw fail("after \(what) mirrors differ in \(new)") }
  }

  /// What no merge changes.
  func standing(_ phone: Phone) throws -> [String?] {
    try phone.device.column(
      """
      SELECT schema_version - (\(phone.device.rareChanges)) FROM pragma_schema_version
      UNION ALL SELECT count(*) FROM temp.sqlite_temp_master
      UNION ALL SELECT foreign_keys FROM pragma_foreign_keys
      """)
  }

  /// Devices with the newest release and the same operations have the same.
  func expectAlike(_ devices: [Device], _ name: String) throws {
    let (schema, first) = (releases.last!, phones[0].device)
    let state = try first.store.canonicalState()
    for (number, device) in devices.enumerated() {
      let own = try device.store.canonicalState()
      guard own == state else {
        let (here, there) = (own.filter { !state.contains($0) }, state.filter { !own.contains($0) })
        throw fail("\(name) \(number) has states \(here), and device 0 \(there)")
      }
      for table in schema.tables where table.isSynced {
        // A counter that a migration wrote shows its sum again where the sum itself is written.
        let columns = table.columns.filter { !$0.isOwn && !schema.rebased.contains($0.id) }
        let query = Self.query(table, (table.keys + columns).map(\.quoted))
        let (rows, others) = (try device.column(query), try first.column(query))
        guard rows == others else {
          throw fail("\(name) \(number) shows \(rows) in \(table.name), and device 0 \(others)")
        }
      }
      let diagnosis = try device.database.read { try DatabaseDiagnosis($0) }
      let findings = diagnosis.findings.map { "\($0)" }.filter { finding in
        !schema.tables.contains { table in
          table.columns.contains {
            schema.rebased.contains($0.id) && finding.contains("column-differs")
              && finding.contains("table \(table.name), ")
              && finding.contains("column \($0.name))")
          }
        }
      }
      guard findings.isEmpty else { throw fail("\(name) \(number): \(findings)") }
    }
  }

  /// New devices get the same in every way, and nothing is answered for ever.
  func end() async throws {
    let counts = remotes.map(\.operations.count)
    // What a migration rewrote is not what the log has.
    if !isRewritten {
      let withTriggers = random.happens(0.5)
      try join(
        release: releases.count - 1, remotes: [remotes.count - 1], withTriggers: withTriggers,
        isObserver: true)
      let phone = phones[phones.count - 1]
      for _ in 0..<2 { try await sync(phone.number) }
      let errors = phones[phone.number].errors
      guard errors.isEmpty else { throw fail("device \(phone.number): \(errors)") }
      try expectAlike([phone.device], "new device")
      try expectNoStale(phone, but: [], after: "the first sync of device \(phone.number)")
      if !kinds.trimming { try expectOrderIndependence() }
    }
    for count in 0..<max(10, phones.count) { try await sync(count % phones.count) }
    guard remotes.map(\.operations.count) == counts else {
      throw fail("after convergence the remotes had \(counts), and get more")
    }
  }

  /// In one piece or page by page, what the operations make is the same.
  private func expectOrderIndependence() throws {
    let operations = try phones[0].device.store.operations(
      lackedBy: .init(), maximumBytes: .max)
    let observer = try open(
      database(), release: releases.count - 1, remotes: [], isObserver: true)
    let size = random.happens(0.3) ? operations.count : Int.random(in: 1...3, using: &random)
    for page in stride(from: 0, to: operations.count, by: max(size, 1)) {
      try observer.merge(Array(operations[page..<min(page + size, operations.count)]))
    }
    try expectAlike([observer], "observer")
  }
}
