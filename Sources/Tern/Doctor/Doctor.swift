import Foundation
import GRDB
import TernCore
import TernDatabase
import TernJobs

/// Looks through a database for what its replicas and its jobs promise, in one read.
struct Doctor {
  let db: Database
  let findings: Findings

  init(_ db: Database, _ findings: Findings) {
    self.db = db
    self.findings = findings
  }

  /// - Parameter path: of the file, for what is beside it; `nil` for the database alone.
  func run(path: String?, files: URL?, other: DatabaseDiagnosis.OtherKind) throws {
    try checkIntegrity()
    if let look = try other(db) {
      // An app's own database is the app's; a server's file is Tern's.
      if let complaint = path.flatMap({ OwnerOnly.complaint(of: $0) }) {
        try findings.add(.fileOpen, complaint)
      }
      return try attempt { try look(findings) }
    }
    let names = try StoreTables.replicas(in: db)
    var synced: [String: String] = [:]
    for name in names {
      findings.replica = name
      if let path { try checkParts(path, name) }
      let store = StoreDoctor(db, name: name, findings)
      let transaction = try store.open()
      for table in store.syncedTables {
        if let other = synced.updateValue(name, forKey: table.folded) {
          try findings.add(
            .sharedTable, "replica \(other) syncs the table too", at: .init(table: table))
        }
      }
      if let transaction { try check(transaction) }
    }
    findings.replica = nil
    let jobs = JobDiagnosis(db, findings)
    let isWorking = try path.map { try JobDiagnosis.isWorking($0) }
    let hasJobs = try jobs.run(isWorking: isWorking)
    if hasJobs, let path {
      try jobs.checkFiles(database: path, folder: files, isWorking: isWorking ?? true)
    }
    guard !names.isEmpty || hasJobs else {
      throw InspectionError(.noReplica, path: path ?? db.filename)
    }
  }

  private func check(_ transaction: StoreTransaction) throws {
    let noted = try transaction.sql.map { try NotedKeys($0, transaction) }
    let count = noted.reduce(0) { $0 + $1.count }
    if count > 0 {
      try findings.add(.notes, "\(count) writes are in no operation yet")
    }
    try attempt { try RemoteDoctor(transaction, findings).run() }
    try attempt { try TriggerDoctor(transaction: transaction, findings: findings).run() }
    try attempt { try WaitingDoctor(transaction, findings).run() }
    try attempt { try LogDoctor(transaction, findings, noted).run() }
    for (sql, noted) in zip(transaction.sql, noted) {
      let place = DatabaseFinding.Place(table: sql.shape.name)
      try attempt(place) { try StateDoctor(transaction, sql, findings, noted).run() }
      try attempt(place) { try OrderDoctor(transaction, sql, findings).run() }
    }
    try attempt { try ReplayDoctor(transaction, findings, noted).run() }
    try attempt { try HeldDoctor(transaction, findings, noted).run() }
  }

  /// One part of the look: what stops it is told, and the next part begins.
  private func attempt(_ place: DatabaseFinding.Place = .init(), _ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
      // A collation or a function that only the app has.
      try findings.add(
        .unchecked, "SQLite says: \(error.message ?? "\(error.resultCode)")", at: place)
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
      try findings.add(.integrity, "SQLite says: \(error.message ?? "corrupt")", at: place)
    } catch let error as WireError {
      try findings.add(.stateDamaged, "something cannot be read: \(error)", at: place)
    }
  }

  // MARK: - The file

  private func checkIntegrity() throws {
    try attempt {
      for error in try IntegrityCheck(db).errors() {
        try findings.add(.integrity, "SQLite says: \(error)")
      }
    }
    try attempt {
      for table in try DeclaredForeignKey.tables(db) {
        try attempt(.init(table: table)) { try ReferenceDoctor(db, findings).check(table) }
      }
    }
  }

  private func checkParts(_ path: String, _ name: String) throws {
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    let begin = "\(URL(fileURLWithPath: path).lastPathComponent)-\(StoreTables(name: name).prefix)"
    for file in try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    where file.hasPrefix(begin) && file.hasSuffix(".parts") {
      try findings.add(
        .leftoverParts, "parts of a snapshot that was not fetched to its end are beside it",
        at: .init(name: file))
    }
  }
}
