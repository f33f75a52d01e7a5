import Foundation
import GRDB
import Tern

#if Telemetry
import Logging
import TernTelemetry
import TernJobs
import TernNetwork
#endif

// A process of its own for the tests of the queue: `JobProcess DATABASE MODE`.
// `cancel`, `retry`, `remove` and `resume` do so with all jobs, and go on; `die` works until a job ends the process.
// `upload` uploads one file to the URL that follows, and tells the answer's status. `log` is `work` that writes its log where the
// others only speak. `reach` has a job that requires a network, and a worker as an app makes it.

struct Errand: Job {
  static let kind = "errand"
  var name: String
}

struct Parcel: Job {
  static let kind = "parcel"
  var url: String
}

func say(_ text: String) {
  FileHandle.standardOutput.write(Data((text + "\n").utf8))
}

let modes = [
  "enqueue", "cancel", "retry", "remove", "resume", "work", "drain", "die", "log", "reach",
  "upload",
]

func endWithUsage() -> Never {
  FileHandle.standardError.write(
    Data("usage: JobProcess DATABASE \(modes.joined(separator: "|")) URL\n".utf8))
  exit(2)
}

let arguments = CommandLine.arguments
guard arguments.count == (arguments.contains("upload") ? 4 : 3) else { endWithUsage() }
guard modes.contains(arguments[2]) else { endWithUsage() }

var configuration = Configuration()
configuration.busyMode = .timeout(10)
let database = try DatabasePool(path: arguments[1], configuration: configuration)
var environment = JobEnvironment()
#if Telemetry
if arguments[2] == "log" {
  var logger = Logger(label: "child") { StreamLogHandler.standardOutput(label: $0) }
  logger.logLevel = .trace
  environment.observers = [JobLog(logger, queue: "library")]
}
#endif
let queue = try await JobQueue.open(database, environment: environment)

switch arguments[2] {
case "enqueue":
  let file = try await queue.attach(Data("from afar".utf8), as: "letter")
  _ = try database.write { db in
    try queue.enqueue(Errand(name: "child"), files: [file], in: db)
  }
  say("enqueued")
  // A process that goes on: its end would be an event as well.
  _ = FileHandle.standardInput.readDataToEndOfFile()
case let mode where ["cancel", "retry", "remove", "resume"].contains(mode):
  try database.write { db in
    if mode == "resume" { try queue.resume(in: db) }
    for id in try queue.records(in: db).map(\.id) {
      switch mode {
      case "cancel": try queue.cancel(id, in: db)
      case "retry": try queue.retry(id, in: db)
      case "remove": try queue.remove(id, in: db)
      default: break
      }
    }
  }
  say("done")
  _ = FileHandle.standardInput.readDataToEndOfFile()
case "die":
  let worker = JobWorker(queue, concurrency: 1, path: UnknownPathSource()) {
    $0.handle(Errand.self) { errand, _ in
      say(errand.name)
      if errand.name == "deadly" { kill(getpid(), SIGKILL) }
    }
  }
  try await worker.drain()
case let mode where mode == "work" || mode == "drain" || mode == "log":
  let worker = JobWorker(queue, path: UnknownPathSource()) {
    $0.handle(Errand.self) { _, _ in
      say("working")
      // Until it is killed, or its standard input ends.
      _ = FileHandle.standardInput.readDataToEndOfFile()
    }
  }
  do {
    if mode == "drain" { try await worker.drain() } else { try await worker.run() }
  } catch let error as JobQueueError {
    say(error.code == .workerRunning ? "refused" : "\(error)")
  }
case "reach":
  _ = try database.write { db in
    try queue.enqueue(Errand(name: "child"), requires: .network, in: db)
  }
  try await JobWorker(queue) { $0.handle(Errand.self) { _, _ in say("ran") } }.drain()
  say("drained")
case "upload":
  let url = arguments[3]
  let file = try await queue.attach(Data("from afar".utf8), as: "letter")
  _ = try database.write { db in
    try queue.enqueue(Parcel(url: url), unique: .skip("one"), files: [file], in: db)
  }
  let worker = JobWorker(queue, path: UnknownPathSource(), transfers: TransportTransfers()) {
    $0.handle(Parcel.self) { parcel, context in
      let answer = try await context.upload("send", HTTPRequest(.post, parcel.url), file: "letter")
      say("answered \(answer.status)")
    }
  }
  try await worker.drain()
default: endWithUsage()
}
