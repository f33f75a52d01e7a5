import Foundation
import GRDB
import Tern

// A process of its own for the tests of the queue: `JobProcess DATABASE enqueue|work|drain`.

struct Errand: Job {
  static let kind = "errand"
  var name: String
}

func say(_ text: String) {
  FileHandle.standardOutput.write(Data((text + "\n").utf8))
}

var configuration = Configuration()
configuration.busyMode = .timeout(10)
let database = try DatabasePool(path: CommandLine.arguments[1], configuration: configuration)
let queue = try await JobQueue.open(database)

switch CommandLine.arguments[2] {
case "enqueue":
  let file = try await queue.attach(Data("from afar".utf8), as: "letter")
  _ = try database.write { db in
    try queue.enqueue(Errand(name: "child"), files: [file], in: db)
  }
  say("enqueued")
  // A process that goes on: its end would be an event as well.
  _ = FileHandle.standardInput.readDataToEndOfFile()
case let mode where mode == "work" || mode == "drain":
  let worker = JobWorker(queue) {
    $0.handle(Errand.self) { _, _ in
      say("working")
      // Until it is killed, or its standard input ends.
      _ = FileHandle.standardInput.readDataToEndOfFile()
    }
  }
  do {
    try await mode == "work" ? worker.run() : worker.drain()
  } catch let error as JobQueueError {
    say(error.code == .workerRunning ? "refused" : "\(error)")
  }
default: fatalError("usage: JobProcess DATABASE enqueue|work|drain")
}
