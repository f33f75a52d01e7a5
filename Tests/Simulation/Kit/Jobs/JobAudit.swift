#if Server && Rehearsal
import Foundation
import GRDB
import Tern
import TernTesting

/// Compares what is in the app's tables and on the disk with what was committed.
struct JobAudit {
  private let world: JobWorld
  private var ledger: JobLedger { world.ledger }

  init(_ world: JobWorld) {
    self.world = world
  }

  /// As a process begins, and at the end.
  func check(_ process: JobProcess) throws {
    try process.database.read { db in
      try checkItems(db)
      try checkEffects(db)
      try checkFiles(db)
      if let finding = try DatabaseDiagnosis(db).findings.first {
        ledger.fail(.effectsHappenOnce, "the file: \(finding)")
      }
    }
  }

  /// When all processes have ended: opens once more, which sweeps what dead ones left.
  func checkAfterwards() throws {
    let process = try JobProcess(world, 0)
    try check(process)
    let named = try process.database.read { try paths($0) }
    let orphans = try CrashedDisk.all(world.filesPath).subtracting(named).sorted()
    if !orphans.isEmpty { ledger.fail(.effectsHappenOnce, "files of no job: \(orphans)") }
    try process.close()
  }

  /// A job and the row that was written with it: both or neither.
  private func checkItems(_ db: Database) throws {
    let items = try Set(Int64.fetchAll(db, sql: "SELECT job FROM item"))
    if items != Set(ledger.entries.keys) {
      let apart = items.symmetricDifference(ledger.entries.keys).sorted()
      ledger.fail(.effectsHappenOnce, "jobs \(apart) or their rows are missing")
    }
    if try JobRow.all(db) != ledger.rows {
      ledger.fail(.effectsHappenOnce, "the queue is not what was committed")
    }
  }

  /// What steps wrote is there exactly once.
  private func checkEffects(_ db: Database) throws {
    var found: [Int64: [String: [Int]]] = [:]
    for row in try Row.fetchAll(db, sql: "SELECT job, name, answer FROM effect") {
      found[row[0], default: [:]][row[1], default: []].append(row[2])
    }
    for (id, entry) in ledger.entries.sorted(by: { $0.key < $1.key })
    where found[id, default: [:]] != entry.answers.mapValues({ [$0] }) {
      ledger.fail(
        .effectsHappenOnce,
        "job \(id) committed \(sorted(entry.answers)) and its rows are "
          + "\(sorted(found[id, default: [:]]))")
    }
  }

  private func sorted<Value>(_ values: [String: Value]) -> String {
    values.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
  }

  /// None of a living job's files is missing.
  private func checkFiles(_ db: Database) throws {
    let missing = try paths(db).subtracting(CrashedDisk.all(world.filesPath)).sorted()
    if !missing.isEmpty { ledger.fail(.effectsHappenOnce, "files are missing: \(missing)") }
    let counts = try Row.fetchAll(
      db, sql: "SELECT job, count(*) FROM grdb_tern_jobfile GROUP BY job")
    let owned = Dictionary(uniqueKeysWithValues: counts.map { ($0[0] as Int64, $0[1] as Int) })
    for (id, entry) in ledger.entries.sorted(by: { $0.key < $1.key }) {
      let isAlive = ledger.rows[id].map { !$0.hasEnded } ?? false
      if owned[id, default: 0] != (isAlive ? entry.files.count : 0) {
        ledger.fail(
          .effectsHappenOnce, "job \(id) has \(owned[id, default: 0]) files, not \(entry.files)")
      }
    }
  }

  private func paths(_ db: Database) throws -> Set<String> {
    try Set(String.fetchAll(db, sql: "SELECT path FROM grdb_tern_jobfile"))
  }
}
#endif
