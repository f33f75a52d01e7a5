import TernCore

/// What jobs require and was not there as the worker looked last.
struct UnmetRows {
  let connection: JobConnection

  func replace(by unmet: Set<ExactText>, at now: WallTime) throws {
    let stored = try Set(
      connection.rows("SELECT needs FROM \(JobTables.unmet)").map { ExactText($0[0]) })
    for need in stored.subtracting(unmet) {
      try connection.run("DELETE FROM \(JobTables.unmet) WHERE needs = ?", [need.text])
    }
    for need in unmet.subtracting(stored).map(\.text).sorted() {
      try connection.run("INSERT INTO \(JobTables.unmet) VALUES (?, ?)", [need, now.milliseconds])
    }
  }

  func drop() throws { try connection.run("DELETE FROM \(JobTables.unmet)") }
}
