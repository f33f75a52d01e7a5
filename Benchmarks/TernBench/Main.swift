import Foundation
import Synchronization

/// One case a process, so that callgrind counts one thing. See `script/bench`.
@main
enum Main {
  private static let usage = """
    usage: tern-bench list                              cases and their aims
           tern-bench count CASE plain|tern ROWS [FILE] runs one case, once
           tern-bench floor WORK STEP ROWS FILE         what SQLite alone takes, once
           tern-bench floor single sealed|tern ROWS FILE seals of one row, in SQL alone or Tern's
           tern-bench held CASE ROWS            seconds, of many rows quarantined
           tern-bench lock FILE OPERATIONS      seconds that another writer waits for a merge
           tern-bench large-text BYTES EDITS            seconds of edits of one text
           tern-bench mirror ROWS mirrored|alone        seconds to insert rows, and to merge them
           tern-bench text EDITS each|once              a paper, so many edits a transaction
           tern-bench time FOLDER ROWS ROUNDS [CASE...] wall time on files in a folder
           tern-bench wire ROWS                         bytes of a one-column change, as pushed
           tern-bench file FOLDER ROWS                  pages of a file, acknowledged and trimmed
           tern-bench stand FILE ROWS                   makes a file with so many rows
           tern-bench among FILE CASE ROWS              runs one case on such a file, once
           tern-bench events STREAM BYTES parse|lines   an event stream, or its line ends alone
           tern-bench event-lines EVENTS LINES parse|lines  events with so many lines more in each
           tern-bench jobs FOLDER tern|c JOBS TOGETHER AT-ONCE normal|full
                                               seconds to enqueue, claim and complete
           tern-bench job-latency FOLDER JOBS   milliseconds from enqueueing to the start
           tern-bench job-stand FILE WAITING    makes a file with so many jobs that wait
           tern-bench job-among FILE JOBS       runs some jobs on such a file, once
           tern-bench job-idle FILE WAITING SECONDS
                                               milliseconds of processor time while they wait
           tern-bench sync FOLDER               microseconds that one commit waits for the disk
           tern-bench snapshot FOLDER ROWS STEP         make, cut, killed, load or again, in that order
           tern-bench check FOLDER ROWS         seconds of a server's check of an offered snapshot
           tern-bench push DATA SPACES OPERATIONS SECONDS [prepared]
                                               operations a second, so many a push, and their count
           tern-bench merged URL URL SPACE TOKEN WRITES
                                                milliseconds from a write to its merge elsewhere
           tern-bench insert FILE OPERATIONS SECONDS    the same of plain inserts, in SQLite
    """

  static func main() throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    switch arguments.first {
    case "list":
      for bench in BenchCase.allCases {
        print(bench.rawValue, bench.aim.map { "\($0)" } ?? "-")
      }
    case "count" where 4...5 ~= arguments.count:
      guard let bench = BenchCase(rawValue: arguments[1]), let rows = Int(arguments[3]),
        let isSynced = ["plain": false, "tern": true][arguments[2]]
      else { return fail() }
      let path = arguments.count == 5 ? arguments[4] : nil
      measure(try bench.prepare(isSynced: isSynced, path: path, rows: BenchRow.make(rows)))
    #if PostgreSQL
    case "push", "insert": try StoreRate.run(arguments)
    #endif
    case "floor" where arguments.count == 5 && arguments[1] == "single":
      guard let rows = Int(arguments[3]), let step = SealFloor.Step(rawValue: arguments[2]) else {
        return fail()
      }
      try SealFloor(path: arguments[4], rows: BenchRow.make(rows)).run(step)
    case "floor" where arguments.count == 5:
      guard let work = Floor.Work(rawValue: arguments[1]), let rows = Int(arguments[3]),
        let step = Floor.Step(rawValue: arguments[2])
      else { return fail() }
      let floor = try Floor(step, path: arguments[4], rows: BenchRow.make(rows))
      measure(try floor.prepare(work))
    case "held" where arguments.count == 3:
      guard let bench = HeldBench.Case(rawValue: arguments[1]), let rows = Int(arguments[2]) else {
        return fail()
      }
      try HeldBench(count: rows).run(bench)
    case "lock" where arguments.count == 3:
      guard let operations = Int(arguments[2]) else { return fail() }
      try wait { try await LockBench(path: arguments[1], operations: operations).run() }
    case "large-text" where arguments.count == 3:
      guard let bytes = Int(arguments[1]), let edits = Int(arguments[2]) else { return fail() }
      try LargeBench.text(bytes: bytes, edits: edits)
    case "mirror" where arguments.count == 3:
      guard let rows = Int(arguments[1]) else { return fail() }
      try LargeBench.mirror(rows: rows, isMirrored: arguments[2] == "mirrored")
    case "text" where arguments.count == 3:
      guard let edits = Int(arguments[1]), edits > 0 else { return fail() }
      try TextBench().run(edits: edits, isSealing: arguments[2] == "each")
    case "time" where arguments.count >= 4:
      guard let rows = Int(arguments[2]), let rounds = Int(arguments[3]) else { return fail() }
      let named = arguments.dropFirst(4).compactMap(BenchCase.init)
      try Timing(directory: arguments[1], rows: rows, rounds: rounds)
        .run(named.isEmpty ? BenchCase.allCases : named)
    case "events" where arguments.count == 4:
      guard let stream = EventBench.Stream(rawValue: arguments[1]), let bytes = Int(arguments[2])
      else { return fail() }
      let bench = EventBench(stream, byteCount: bytes)
      print(bench.byteCount)
      measure { if arguments[3] == "parse" { try bench.parse() } else { bench.findLineEnds() } }
    case "event-lines" where arguments.count == 4:
      guard let events = Int(arguments[1]), let lines = Int(arguments[2]) else { return fail() }
      let bench = EventBench(events: events, lines: lines)
      measure { if arguments[3] == "parse" { try bench.parse() } else { bench.findLineEnds() } }
    default: try files(arguments)
    }
  }

  private static func files(_ arguments: [String]) throws {
    switch arguments.first {
    case "merged" where arguments.count == 6:
      guard let writer = URL(string: arguments[1]), let reader = URL(string: arguments[2]),
        let writes = Int(arguments[5]), writes > 0
      else { return fail() }
      try wait {
        try await MergedBench(
          writer: writer, reader: reader, space: arguments[3], token: arguments[4],
          writes: writes
        ).run()
      }
    case "wire" where arguments.count == 2:
      guard let rows = Int(arguments[1]) else { return fail() }
      try WireSize(rows: rows).run()
    case "file" where arguments.count == 3:
      guard let rows = Int(arguments[2]) else { return fail() }
      try FileSize(folder: arguments[1], rows: rows).run()
    case "stand" where arguments.count == 3:
      guard let rows = Int(arguments[2]) else { return fail() }
      try Standing(path: arguments[1]).make(rows: rows)
    case "among" where arguments.count == 4:
      guard let bench = Standing.Case(rawValue: arguments[2]), let rows = Int(arguments[3]) else {
        return fail()
      }
      measure(try Standing(path: arguments[1]).prepare(bench, rows: rows))
    case "snapshot" where arguments.count == 4:
      guard let rows = Int(arguments[2]), let step = Snapshots.Step(rawValue: arguments[3]) else {
        return fail()
      }
      try Snapshots(folder: arguments[1], rows: rows).run(step)
    #if Server
    case "check" where arguments.count == 3:
      guard let rows = Int(arguments[2]) else { return fail() }
      try CheckBench(folder: arguments[1], rows: rows).run()
    #endif
    case "sync" where arguments.count == 2:
      print(String(format: "%.0f", try Timing.syncTime(arguments[1]) * 1e6))
    default: try jobs(arguments)
    }
  }

  private static func jobs(_ arguments: [String]) throws {
    let numbers = arguments.map { Int($0) ?? 0 }
    switch arguments.first {
    case "jobs" where arguments.count == 7:
      try wait {
        try await JobReport(folder: arguments[1]).run(
          arguments[2], count: numbers[3], together: max(numbers[4], 1),
          atOnce: max(numbers[5], 1), isFull: arguments[6] == "full")
      }
    case "job-latency" where arguments.count == 3:
      try wait { try await JobReport(folder: arguments[1]).latency(count: numbers[2]) }
    case "job-stand" where arguments.count == 3:
      try JobsAmong(path: arguments[1]).make(waiting: numbers[2])
    case "job-among" where arguments.count == 3:
      try wait { try await JobsAmong(path: arguments[1]).work(jobs: numbers[2]) }
    case "job-idle" where arguments.count == 4:
      try wait {
        let spent = try await JobsAmong(path: arguments[1])
          .idle(waiting: numbers[2], for: .seconds(numbers[3]))
        print(String(format: "%.1f", spent * 1000))
      }
    default: fail()
    }
  }

  /// On the main thread: valgrind does not bear a `main` that waits by itself.
  private static func wait(_ body: @escaping @Sendable () async throws -> Void) throws {
    let outcome = Mutex<Result<Void, any Error>?>(nil)
    let end = DispatchSemaphore(value: 0)
    Task {
      let result: Result<Void, any Error>
      do { result = .success(try await body()) } catch { result = .failure(error) }
      outcome.withLock { $0 = result }
      end.signal()
    }
    end.wait()
    try outcome.withLock { $0 }?.get()
  }

  private static func fail() {
    print(usage)
    exit(2)
  }
}
