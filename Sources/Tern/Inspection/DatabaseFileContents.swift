import GRDB
import TernJobs

/// What a database file holds of replicas and of a queue of jobs, as of one moment. Other processes
/// may be writing to it.
package struct DatabaseFileContents: Sendable {
  package let sizes: FileSizes
  /// By name.
  package let replicas: [ReplicaInspection]
  /// `nil` without a queue; an error for one of another format.
  package let jobs: Result<JobOverview?, JobQueueError>

  /// Blocks: not on the main actor. Cost: one pass over Tern's own tables.
  ///
  /// - Throws: ``InspectionError``.
  package init(path: String) throws {
    sizes = FileSizes(path: path)
    (replicas, jobs) = try ReadOnlyFile(path: path).read { db in
      (try ReplicaReader.all(in: db, path: path), try Self.jobs(in: db))
    }
    if case .success(nil) = jobs, replicas.isEmpty {
      throw InspectionError(.noReplica, path: path)
    }
  }

  private static func jobs(in db: Database) throws -> Result<JobOverview?, JobQueueError> {
    do {
      return .success(try GuestJobQueue(db)?.overview())
    } catch let error as JobQueueError {
      return .failure(error)
    }
  }
}
