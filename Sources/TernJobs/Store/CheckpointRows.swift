import Foundation
import GRDB

/// What attempts stored: results of steps, values, deadlines, and what is known of transfers.
struct CheckpointRows {
  let connection: JobConnection

  func content(_ kind: CheckpointKind, _ name: String, of job: JobID) throws -> Data? {
    try connection.row(
      "SELECT content FROM \(JobTables.checkpoint) WHERE job = ? AND kind = ? AND name = ?",
      [job.rawValue, kind.rawValue, name])?[0]
  }

  func checkpoint(_ kind: CheckpointKind, _ name: String, of claim: Claim) throws -> Data? {
    try JobQueueError.refuseNull(in: name, "the name of what job \(claim.id) stores")
    return try content(kind, name, of: claim.id)
  }

  /// - Throws: ``JobQueueError`` `.unreadable`.
  func decoded<T: Decodable>(
    _ kind: CheckpointKind, _ name: String, of claim: Claim, as type: T.Type = T.self
  ) throws -> T? {
    try checkpoint(kind, name, of: claim).map { try JobCoding.decode(type, $0, of: name) }
  }

  func names(_ kind: CheckpointKind, of job: JobID) throws -> [String] {
    try connection.rows(
      "SELECT name FROM \(JobTables.checkpoint) WHERE job = ? AND kind = ?",
      [job.rawValue, kind.rawValue]
    ).map { $0[0] }
  }

  /// Of a job that runs: ``JobTransaction/store(_:_:_:of:)``.
  func store(_ kind: CheckpointKind, _ name: String, _ content: Data, of claim: Claim) throws {
    try JobQueueError.refuseNull(in: name, "the name of what job \(claim.id) stores")
    let limits = connection.limits
    guard content.count <= limits.checkpointBytes else {
      throw JobQueueError(
        .checkpointTooLarge,
        "“\(name)” has \(content.count) bytes, and the limit is \(limits.checkpointBytes); put "
          + "large content into a file")
    }
    try connection.run(
      """
      INSERT INTO \(JobTables.checkpoint) (job, kind, name, content) VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET content = excluded.content
      WHERE kind <> \(CheckpointKind.step.rawValue)
      """, [claim.id.rawValue, kind.rawValue, name, content])
    if connection.db.changesCount == 0 { throw JobQueueError.duplicateStep(name, of: claim.id) }
    let count: Int = try connection.row(
      "SELECT count(*) FROM \(JobTables.checkpoint) WHERE job = ?", [claim.id.rawValue])![0]
    guard count <= limits.checkpointsPerJob else {
      throw JobQueueError(
        .tooManyCheckpoints,
        "a job has no more than \(limits.checkpointsPerJob) checkpoints; enqueue another job")
    }
  }

  /// Of whichever job; what is there stays.
  func add(_ kind: CheckpointKind, _ name: String, _ content: Data, of job: JobID) throws {
    try connection.run(
      """
      INSERT INTO \(JobTables.checkpoint) (job, kind, name, content) VALUES (?, ?, ?, ?)
      ON CONFLICT DO NOTHING
      """, [job.rawValue, kind.rawValue, name, content])
  }

  func replace(_ kind: CheckpointKind, _ name: String, _ content: Data, of job: JobID) throws {
    try connection.run(
      "UPDATE \(JobTables.checkpoint) SET content = ? WHERE job = ? AND kind = ? AND name = ?",
      [content, job.rawValue, kind.rawValue, name])
  }

  func drop(_ kind: CheckpointKind, _ name: String, of job: JobID) throws {
    try connection.run(
      "DELETE FROM \(JobTables.checkpoint) WHERE job = ? AND kind = ? AND name = ?",
      [job.rawValue, kind.rawValue, name])
  }

  /// All of a kind.
  func drop(_ kind: CheckpointKind, of job: JobID) throws {
    try connection.run(
      "DELETE FROM \(JobTables.checkpoint) WHERE job = ? AND kind = ?",
      [job.rawValue, kind.rawValue])
  }

  func drop(of job: JobID) throws {
    try connection.run("DELETE FROM \(JobTables.checkpoint) WHERE job = ?", [job.rawValue])
  }
}
