import GRDB

/// Which job has which file.
struct FileRows {
  let connection: JobConnection

  /// Paths by name.
  func all(of job: JobID) throws -> [String: String] {
    let rows = try connection.rows(
      "SELECT name, path FROM \(JobTables.file) WHERE job = ?", [job.rawValue])
    return Dictionary(uniqueKeysWithValues: rows.map { ($0[0], $0[1]) })
  }

  func add(_ path: String, as name: String, to job: JobID) throws {
    try JobQueueError.refuseNull(in: name, "the name of a file of job \(job)")
    let names = try connection.rows(
      "SELECT name FROM \(JobTables.file) WHERE job = ?", [job.rawValue]
    ).map { $0[0] as String }
    guard !names.contains(name) else {
      throw JobQueueError(.duplicateFile, "job \(job) has a file “\(name)” already")
    }
    let limit = connection.limits.filesPerJob
    guard names.count < limit else {
      throw JobQueueError(.tooManyFiles, "a job has no more than \(limit) files")
    }
    try connection.run(
      "INSERT INTO \(JobTables.file) (job, name, path) VALUES (?, ?, ?)",
      [job.rawValue, name, path])
  }

  /// - Returns: the path of the file that the job does not have any more.
  func drop(_ name: String, of job: JobID) throws -> String? {
    let found = try connection.row(
      "SELECT path FROM \(JobTables.file) WHERE job = ? AND name = ?", [job.rawValue, name])
    guard let path: String = found?[0] else { return nil }
    try connection.run("DELETE FROM \(JobTables.file) WHERE path = ?", [path])
    return path
  }

  /// - Returns: the paths of files that no job has any more.
  func drop(of job: JobID) throws -> [String] {
    let paths = try connection.rows(
      "SELECT path FROM \(JobTables.file) WHERE job = ?", [job.rawValue])
    if !paths.isEmpty {
      try connection.run("DELETE FROM \(JobTables.file) WHERE job = ?", [job.rawValue])
    }
    return paths.map { $0[0] }
  }
}
