import Foundation
import GRDB
import TernCore
import TernDatabase

extension JobDiagnosis {
  /// Whether a worker of the database at a path runs. Makes no file.
  package static func isWorking(_ path: String) throws -> Bool {
    try FileLock.isHeld(path + "-jobs.lock")
  }

  /// Compares the folder of the jobs' files with the rows that name them.
  ///
  /// - Parameters:
  ///   - path: of the database.
  ///   - folder: where it is not beside the database.
  package func checkFiles(database path: String, folder: URL?, isWorking: Bool) throws {
    let root = folder?.path(percentEncoded: false) ?? path + "-files"
    guard FileManager.default.fileExists(atPath: root) else {
      let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(JobTables.file)") ?? 0
      if count > 0 {
        try findings.add(
          .unchecked, "\(count) files belong to jobs, and their folder is not there",
          at: .init(name: root))
      }
      return
    }
    try checkRows(root, isWorking: isWorking)
    for session in try FileManager.default.contentsOfDirectory(atPath: root).sorted()
    where JobFolder.isName(session) {
      try checkSession(session, root)
    }
  }

  /// A worker that runs may have finished a job since this read began.
  private func checkRows(_ root: String, isWorking: Bool) throws {
    let rows = try Row.fetchCursor(db, sql: "SELECT job, name, path FROM \(JobTables.file)")
    while let row = try rows.next() {
      let file: String = row["path"]
      if isWorking || FileManager.default.fileExists(atPath: "\(root)/\(file)") { continue }
      try findings.add(
        .jobFileMissing, "the job's file “\(row["name"] as String)” is not there",
        at: .init(name: "job \(row["job"] as Int64), \(file)"))
    }
  }

  /// What a process that lives has there may belong to a job that is not committed yet.
  private func checkSession(_ session: String, _ root: String) throws {
    let folder = "\(root)/\(session)"
    if try FileLock.isHeld("\(folder)/\(JobFolder.lockName)") { return }
    let named = try JobFolder.named(session, in: db)
    for file in try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    where file != JobFolder.lockName && !named.contains("\(session)/\(file)") {
      try findings.add(
        .jobFileLeft, "a file is of no job", at: .init(name: "\(session)/\(file)"))
    }
  }
}
