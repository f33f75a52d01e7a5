import Foundation
import GRDB
import Synchronization
import TernCore
import TernDatabase

/// Jobs in the app's own database, enqueued in the app's own transactions.
///
/// ```swift
/// let jobs = try await JobQueue.open(database)
/// try await database.write { db in
///   try shelf.insert(db)
///   try jobs.enqueue(ScanShelf(shelf: shelf.id), in: db)
/// }
/// ```
///
/// Enqueueing needs no handler: a ``JobWorker``, in this process or another, runs the jobs.
public final class JobQueue: Sendable {
  /// The app's own database.
  public let database: any DatabaseWriter
  /// What it was opened with.
  public let limits: JobLimits
  package let environment: JobEnvironment
  let durability: Durability
  let folder: JobFolder
  /// The kernel's lock that one worker holds.
  let lockPath: String
  /// Tells of jobs that were committed in this process.
  let arrivals: LocalWrites
  /// Starts of jobs whose end could not be written in this process, which lives.
  let leftBehind = Mutex<[JobID: Int]>([:])
  /// Which jobs wait for room, and how many had not ended as they were refused: as a run of a
  /// worker knows it.
  let roomless = Mutex<[JobID: Int]>([:])
  let copying: BlockingWork
  /// `nil` where nobody observes.
  let events: PendingEvents?
  /// Why some of what dead processes left could not be removed as this was opened. Nothing depends
  /// on it, and the next opening tries again.
  public var unsweptFiles: [any Error] { folder.unswept }

  /// Opens, or opens again, the queue of a database, off the caller's actor: makes its tables where
  /// they are missing, and removes files that a dead process left to nobody.
  ///
  /// Waits for other connections that write to the database, and while the app has suspended it,
  /// some six seconds in all beside what the configuration's `busyMode` waits each time.
  ///
  /// - Parameters:
  ///   - files: a folder for the files of this database's jobs and of nothing else; by default
  ///     beside the database, `-files` after its name. For a database in memory it is a temporary
  ///     one, which goes with the database. A copy of a database needs another folder than the
  ///     original: what a job of only one of them names is nobody's to the other.
  ///   - durability: what a commit that returned survives, with its files; set on the writer, which
  ///     a replica and the app's own commits share, and checked.
  /// - Throws: ``JobQueueError`` `.newerFormat`, `.olderFormat`, `.folderInUse` and `.fileFailed`,
  ///   `DatabaseSetupError`, `DatabaseError`, and `CancellationError`.
  public static func open(
    _ database: any DatabaseWriter, files: URL? = nil, limits: JobLimits = JobLimits(),
    durability: Durability = .powerLoss, environment: JobEnvironment = JobEnvironment()
  ) async throws -> JobQueue {
    var backoff = Backoff(base: .milliseconds(10), limit: .seconds(1))
    while true {
      do {
        return try await BlockingWork.shared.run {
          try openBlocking(
            database, files: files, limits: limits, durability: durability,
            environment: environment)
        }
      } catch let error where backoff.failures < 12 && isPassing(error) {
        try await environment.clock.sleep(for: backoff.next(jitter: environment.jitter()))
      }
    }
  }

  private static func isPassing(_ error: any Error) -> Bool {
    (error as? DatabaseSetupError)?.isTransient ?? (error as? DatabaseError)?.passes ?? false
  }

  /// ``open(_:files:limits:durability:environment:)`` on the caller's thread.
  package static func openBlocking(
    _ database: any DatabaseWriter, files: URL? = nil, limits: JobLimits = JobLimits(),
    durability: Durability = .powerLoss, environment: JobEnvironment = JobEnvironment()
  ) throws -> JobQueue {
    try durability.apply(to: database)
    let (id, path, place) = try database.write { db in
      let id = try JobTables.install(db) { String(environment.makeID(), radix: 16) }
      // Several connections may share a database in memory that has a name.
      let isAlone = database.path == ":memory:" || database.path.isEmpty
      return (id, db.filename, isAlone ? try MemoryPlace.name(in: db) : id)
    }
    let temporary = FileManager.default.temporaryDirectory.appending(path: "tern-jobs-\(place)")
    let beside = path.isEmpty ? temporary : URL(filePath: path + "-files")
    let root = (files ?? beside).path(percentEncoded: false).withoutTrailingSlash
    do {
      let folder = try JobFolder(
        root: root, DurableFile(isSynced: durability == .powerLoss),
        owner: FolderOwner(queue: id, database: path), makeID: environment.makeID
      ) { session in try database.read { try JobFolder.named(session, in: $0) } }
      if files == nil, path.isEmpty {
        database.add(transactionObserver: TemporaryFolder(folder), extent: .databaseLifetime)
      }
      return JobQueue(
        database, limits, environment, durability, folder,
        lockPath: path.isEmpty ? "\(root)/worker.lock" : path + "-jobs.lock")
    } catch let error as DatabaseError {
      throw error
    } catch let error as JobQueueError {
      throw error
    } catch {
      throw JobQueueError(
        .fileFailed, "the folder for the files of jobs cannot be used", underlyingError: error)
    }
  }

  private init(
    _ database: any DatabaseWriter, _ limits: JobLimits, _ environment: JobEnvironment,
    _ durability: Durability, _ folder: JobFolder, lockPath: String
  ) {
    self.database = database
    self.limits = limits
    self.environment = environment
    self.durability = durability
    self.folder = folder
    self.lockPath = lockPath
    // The worker of another process looks at the database when its lock file is touched.
    arrivals = LocalWrites(tables: [JobTables.job]) { FileWatch.touch(lockPath) }
    copying = BlockingWork(executor: environment.fileExecutor)
    database.add(transactionObserver: arrivals, extent: .observerLifetime)
    events = PendingEvents(environment.observers, of: database)
  }

  package var filesFolder: String { folder.root }

  /// What a process knew is gone with it: a test lets one die whose queue stays.
  package func forgetLife() { leftBehind.withLock { $0 = [:] } }

  /// Whether a job that waits has to wait until others have ended, because of what it enqueues.
  package func awaitsRoom(_ job: JobID) -> Bool { roomless.withLock { $0[job] != nil } }

  /// Of the lock file: touched by queues that committed, closed by a worker's end or its process's.
  ///
  /// - Returns: `nil` where the system does not tell.
  func events(_ event: FileWatch.Event) -> AsyncStream<Void>? {
    environment.watchesFiles ? FileWatch.events(event, of: lockPath) : nil
  }
}

extension String {
  fileprivate var withoutTrailingSlash: String { hasSuffix("/") ? String(dropLast()) : self }
}
