#if Telemetry
import GRDB
import Logging
import Tern
import TernJobs
import TernTelemetry

// As the page on jobs shows it; a test of the package's compares them.

struct ScanShelf: Job {
  static let kind = "scan-shelf"
  var shelf: String
}

func openLoggedJobs(_ database: DatabasePool, _ logger: Logger) async throws -> JobQueue {
  let environment = JobEnvironment(
    observers: [JobLog(logger, queue: "library"), JobMetrics(queue: "library")])
  return try await JobQueue.open(database, environment: environment)
}

func shelfWorker(_ jobs: JobQueue) -> JobWorker {
  JobWorker(jobs) {
    $0.handle(ScanShelf.self) { job, context in
      context.logger.info("looking at the shelf")
    }
  }
}
#endif
