#if Server && Rehearsal
import Foundation
import GRDB
import Tern
import TernCore
import TernTesting
import TestDevice

/// What must hold when all is quiet.
extension Simulation {
  func check() throws -> String? {
    for device in devices {
      device.checkPair()
      device.checkInbox()
      device.checkRepairs()
      try device.noteTrimming()
    }
    let found =
      servers.firstNonNil(\.violation) ?? devices.firstNonNil(\.violation)
      ?? folders.firstNonNil(\.violation)
    if let found { return found }
    if let undrained {
      if let passed = try passedOver() { return passed }
      return "INV-09: after \(SimulationScript.quietSeconds) quiet seconds not all is drained: "
        + undrained
    }
    for space in script.spaces {
      if let violation = try check(space) { return violation }
    }
    for device in devices {
      if let row = try device.replica.rowsOutOfSight().first {
        return "INV-14: row \(row) of device \(device.index) is neither shown nor in the inbox"
      }
    }
    return try checkLimits() ?? checkFile()
  }

  /// Whether a cursor stands behind an operation that its device lacks, and so never gets.
  private func passedOver() throws -> String? {
    for device in devices {
      let merged = try device.replica.store.versionVector()
      for server in servers where device.place.servers.contains(server.index) {
        let space = device.place.space
        let cursor = try device.cursor(at: "server-\(server.index)")
        // Where a snapshot has to be loaded, a cursor says nothing.
        guard let cursor, let coming = try? server.numbers(in: space, after: cursor)
        else { continue }
        for (author, head) in try server.held(in: space).sorted where merged[author] < head {
          let next = merged[author] + 1
          if !coming[author, default: []].contains(next) {
            return "INV-05: the cursor of device \(device.index) at server \(server.index) has "
              + "passed operation \(next) of \(author), which it lacks"
          }
        }
      }
      if let folder = device.folder,
        let cursor = try device.cursor(at: SimulatedFolderRemote.id),
        let given = FolderCursor(RemoteCursor(rawValue: cursor))?.given
      {
        for (author, head) in folder.heads.sorted
        where merged[author] < min(head, given[author]) {
          return "INV-05: the cursor of device \(device.index) at its folder has passed operation "
            + "\(merged[author] + 1) of \(author), which it lacks"
        }
      }
    }
    return nil
  }

  /// Nothing that a file shows is broken: of one device, and in half of the seeds, since that takes as long
  /// as much else. Which one hangs on the seed and itself alone, so that a script may lose others.
  private func checkFile() throws -> String? {
    guard script.seed.isMultiple(of: 2) else { return nil }
    let device = devices.max { lot($0) < lot($1) }!
    let diagnosis = try device.database.read { try DatabaseDiagnosis($0) }
    guard let finding = diagnosis.findings.first else { return nil }
    return "\(finding.invariant): the file of device \(device.index): \(finding)"
  }

  private func lot(_ device: SimulatedDevice) -> UInt64 {
    var generator = SeededGenerator(seed: script.seed ^ UInt64(device.index) << 32)
    return generator.next()
  }

  private func check(_ space: Int) throws -> String? {
    let devices = devices.filter { $0.place.space == space }
    if Set(devices.map(\.file.version)).count > 1 { trace.saw(.bothVersions) }
    let operations = try operations(in: space)
    let ids = devices.reduce(into: Set()) { $0.formUnion($1.ids) }
    if let stranger = operations.first(where: { !ids.contains($0.envelope.replica) }) {
      return "INV-08: space \(space) holds operations of \(stranger.envelope.replica), which is of "
        + "none of its devices"
    }
    let model = try Model(operations, deletes: script.deletes, hasCopies: hasCopies)
    if let violation = model.violation { return violation }
    var contents: [(version: Int, state: [CanonicalRow], tables: [String: [Row]])] = []
    for version in 1...SimulatedFile.newestVersion {
      let equals = devices.filter { $0.file.version == version }
      guard let first = equals.first else { continue }
      let state = try first.replica.store.canonicalState()
      let tables = try first.file.tables()
      for other in equals.dropFirst() {
        let others = try other.replica.store.canonicalState()
        if let rows = difference(of: state, others) {
          return "INV-01: states of \(first.index) and \(other.index) differ: \(rows)"
        }
        if try other.counterShares() != first.counterShares() {
          return "INV-01: states of \(first.index) and \(other.index) differ in who counted what"
        }
        if try other.file.tables() != tables {
          return "INV-01: tables of \(first.index) and \(other.index) differ"
        }
        if try other.replica.entriesOfState() != first.replica.entriesOfState() {
          return "INV-14: what follows from the state differs in the inboxes of \(first.index) and "
            + "\(other.index)"
        }
      }
      contents.append((version, state, tables))
    }
    // Of each release one device is compared, to which all others of it are equal.
    let differences = contents.map { version, state, tables in
      check(state, tables, model.rows(in: version)).map { "\($0), in version \(version)" }
    }
    // Of older ones last: a write that no operation carries should be told as that.
    return (differences.last ?? nil) ?? checkIntents(devices, model)
      ?? differences.firstNonNil(\.self)
  }

  private func check(
    _ state: [CanonicalRow], _ tables: [String: [Row]], _ expected: [String: Model.Row]
  ) -> String? {
    let actual = state.reduce(into: [String: Model.Row]()) { rows, row in
      let table = SimulatedFile.firstName(of: row.table)
      rows["\(table)/\(row.key[0].string ?? "")"] = Model.Row(
        life: row.life, isShown: row.isShown, cells: row.cells.mapValues(\.value))
    }
    for key in Set(expected.keys).union(actual.keys).sorted() where expected[key] != actual[key] {
      return "INV-07: row \(key) is \(String(describing: actual[key])) and should be "
        + "\(String(describing: expected[key]))"
    }
    for (table, rows) in tables.sorted(by: { $0.key < $1.key }) {
      for row in rows {
        let key = "\(table)/\(row[0] as String)"
        for (column, value) in expected[key]?.cells ?? [:] {
          let shown: DatabaseValue = row[column]
          if "\(shown)" != "\(value)".replacing("'", with: "\""), "\(shown)" != "\(value)" {
            return "INV-01: \(key).\(column) shows \(shown) and its state is \(value)"
          }
        }
      }
      let count = expected.count { $0.key.hasPrefix("\(table)/") && $0.value.isShown }
      if count != rows.count {
        return "INV-01: table \(table) has \(rows.count) rows and should have \(count)"
      }
    }
    let positions = (tables["item"] ?? []).map { $0["pos"] as String? }
    return Set(positions).count == positions.count
      ? nil
      : "INV-07: two rows stand at one position: \(positions.map { $0 ?? "none" }.sorted())"
  }

  private func checkLimits() throws -> String? {
    let limit = SimulatedFile.inboxLimits(script).entries
    for device in devices {
      let entries = try device.database.unsafeRead {
        try Int.fetchOne($0, sql: "SELECT count(*) FROM grdb_tern_main_inbox") ?? 0
      }
      if entries > limit { return "INV-10: device \(device.index) keeps \(entries) lost values" }
    }
    let paces = servers.flatMap(\.paces) + folders.map { ($0.device, $0.pace) }
    for (device, pace) in paces where pace.quiet > Self.requestLimit {
      return "INV-09: device \(device) sent \(pace.quiet) requests while all was quiet"
    }
    return nil
  }

  /// Many times what any device needs to drain.
  private static let requestLimit = 1000
}

/// The first row that differs, in both; `nil` where all are equal.
func difference(of left: [CanonicalRow], _ right: [CanonicalRow]) -> String? {
  if left == right { return nil }
  func name(_ row: CanonicalRow) -> String { "\(row.table) \(row.key)" }
  for key in Set((left + right).map(name)).sorted() {
    let (mine, other) = (left.first { name($0) == key }, right.first { name($0) == key })
    if mine != other { return "\(String(describing: mine)) and \(String(describing: other))" }
  }
  return "their order"
}

extension SimulatedDevice {
  fileprivate func cursor(at remote: String) throws -> String? {
    try database.unsafeRead {
      try String.fetchOne(
        $0, sql: "SELECT cursor FROM grdb_tern_main_remote WHERE id = ?", arguments: [remote])
    }
  }

  /// What each author added to a row's counters, by table and key.
  fileprivate func counterShares() throws -> [String: String] {
    try database.unsafeRead { db in
      let authors = try Data.fetchAll(db, sql: "SELECT id FROM grdb_tern_main_author ORDER BY idx")
        .map { Array($0) }
      var shares: [String: String] = [:]
      for table in try Row.fetchAll(db, sql: "SELECT id, name FROM grdb_tern_main_table") {
        let rows = "grdb_tern_main_row_\(table["id"] as Int64)"
        for row in try Row.fetchAll(db, sql: "SELECT * FROM \(rows) WHERE cells IS NOT NULL") {
          let cells = try Array(row["cells"] as Data).withUnsafeBytes { try RowState.readCells($0) }
          let sums = cells.compactMap { cell -> String? in
            guard case .counter(let sum, _) = cell.content else { return nil }
            return sum.shares.map { "\(authors[Int($0.author)]): \($0.sum)" }.sorted().joined()
          }
          shares["\(table["name"] as String) \(row[0] as DatabaseValue)"] = sums.sorted().joined()
        }
      }
      return shares
    }
  }

}

extension Sequence {
  fileprivate func firstNonNil<T>(_ value: (Element) -> T?) -> T? {
    for element in self {
      if let found = value(element) { return found }
    }
    return nil
  }
}
#endif
