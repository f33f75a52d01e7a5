import GRDB
import TernCore

/// The gates that are not open, by service.
struct GateRows {
  let connection: JobConnection

  func gate(_ service: String) throws -> GateLife? {
    try connection.row("SELECT * FROM \(JobTables.gate) WHERE service = ?", [service])
      .map(GateLife.init)
  }

  func all() throws -> [ExactText: GateLife] {
    let rows = try connection.rows("SELECT * FROM \(JobTables.gate)")
    return Dictionary(uniqueKeysWithValues: rows.map { (ExactText($0["service"]), GateLife($0)) })
  }

  /// - Returns: whether the gate is open now and was not.
  @discardableResult
  func tell(_ service: String?, _ event: GateLife.Event) throws -> Bool {
    guard let service else { return false }
    let before = try gate(service)
    let gate = GateLife.after(event, before)
    if gate == before { return false }
    guard let gate else {
      try connection.run("DELETE FROM \(JobTables.gate) WHERE service = ?", [service])
      return true
    }
    try connection.run(
      """
      INSERT INTO \(JobTables.gate) (service, since_ms, reopens_ms, probe) VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET since_ms = excluded.since_ms, reopens_ms = excluded.reopens_ms,
        probe = excluded.probe
      """, [service, gate.since.milliseconds, gate.reopens.milliseconds, gate.probe?.rawValue])
    return false
  }

  func forgetProbes() throws {
    try connection.run("UPDATE \(JobTables.gate) SET probe = NULL WHERE probe IS NOT NULL")
  }

  func mendTimes(at now: WallTime) throws {
    let now = now.milliseconds
    try connection.run(
      """
      UPDATE \(JobTables.gate) SET reopens_ms = ? + reopens_ms - since_ms, since_ms = ?
      WHERE since_ms > ?
      """, [now, now, now])
  }
}

extension GateLife {
  init(_ row: Row) {
    self.init(
      since: WallTime(milliseconds: row["since_ms"]),
      reopens: WallTime(milliseconds: row["reopens_ms"]),
      probe: (row["probe"] as Int64?).map(JobID.init(rawValue:)))
  }
}
