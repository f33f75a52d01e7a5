import TernCore

/// The kinds of jobs that the app paused; the empty one is all.
struct PauseRows {
  let connection: JobConnection

  func all() throws -> JobPauses {
    let kinds = try connection.rows("SELECT kind FROM \(JobTables.pause)").map { $0[0] as String }
    return JobPauses(all: kinds.contains(""), kinds: Set(kinds.filter { !$0.isEmpty }))
  }

  func pause(_ kind: String, at now: WallTime) throws {
    try connection.run(
      "INSERT INTO \(JobTables.pause) VALUES (?, ?) ON CONFLICT DO NOTHING",
      [kind, now.milliseconds])
  }

  func resume(_ kind: String) throws {
    try connection.run("DELETE FROM \(JobTables.pause) WHERE kind = ?", [kind])
  }
}
