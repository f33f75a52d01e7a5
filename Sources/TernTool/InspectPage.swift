#if Server
import Foundation
import Tern
import TernCore
import TernDatabase
import TernJobs
import TernPages

/// What stands behind the page of `tern inspect --serve`. Each look opens the file, reads it as of
/// one moment, and closes it: between two looks nothing of it is held.
struct InspectPage: PageProgram {
  let path: String
  let allowsChanges: Bool
  private let work = BlockingWork(label: "tern.inspect")

  init(path: String, allowsChanges: Bool) {
    (self.path, self.allowsChanges) = (path, allowsChanges)
  }

  func answer(_ request: PageRequest) async -> PageAnswer {
    do {
      return try await work.run { try read(request) }
    } catch let error as InspectionError {
      return .failure("\(error.code)", "\(error)", passes: error.advice == .unreachable)
    } catch {
      // Of the inbox, a row, or a change: the message says what to do.
      return .failure("failed", "\(error)")
    }
  }

  private func read(_ request: PageRequest) throws -> PageAnswer {
    if request.isChange { return try change(request) }
    switch request.path {
    case "overview":
      return try PageAnswer(
        InspectDocument(
          DatabaseFileContents(path: path), path: path, allowsChanges: allowsChanges, now: Date()))
    case "inbox":
      return try PageAnswer(
        InspectInboxDocument(path: path, replica: try argument("replica", of: request.query)))
    case "row":
      let key = try JSONDecoder().decode(
        [String].self, from: Data(try argument("key", of: request.query).utf8))
      let row = try DatabaseFileRow(
        path: path, table: try argument("table", of: request.query), key: key,
        replica: try argument("replica", of: request.query))
      return try PageAnswer(InspectRowDocument(row))
    default: return .unknown
    }
  }

  private func argument(_ name: String, of query: [String: String]) throws -> String {
    guard let value = query[name] else { throw InspectPageError("the request names no \(name)") }
    return value
  }

  // MARK: - Changes

  private struct JobChange: Decodable {
    let job: Int64
  }

  private struct Restoring: Decodable {
    let replica: String
    let entry: String
  }

  private func change(_ request: PageRequest) throws -> PageAnswer {
    guard allowsChanges else {
      return .failure("read-only", "the page is read-only; start it with --allow-changes")
    }
    switch request.path {
    case "retry":
      try changeJob(request.body, "nothing waits to be retried") { try $0.retry($1, at: $2) }
    case "cancel":
      try changeJob(request.body, "the job has ended") { try $0.cancel($1, at: $2) }
    case "restore":
      let wanted = try JSONDecoder().decode(Restoring.self, from: request.body)
      try DatabaseFileInbox(path: path, replica: wanted.replica)
        .restore(DatabaseFileInbox.Reference(text: wanted.entry))
    default: return .unknown
    }
    return try PageAnswer(["done": true])
  }

  private func changeJob(
    _ body: Data, _ refusal: String, _ change: (GuestJobQueue, JobID, WallTime) throws -> Bool
  ) throws {
    let id = JobID(rawValue: try JSONDecoder().decode(JobChange.self, from: body).job)
    let now = WallTime(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
    let isDone = try GuestFile(path: path).write { db in
      guard let queue = try GuestJobQueue(db) else { return false }
      return try change(queue, id, now)
    }
    guard isDone else { throw InspectPageError("job \(id) was not changed: \(refusal)") }
    GuestJobQueue.tellWorker(of: path)
  }

  // MARK: - News

  private static let interval = Duration.milliseconds(500)
  /// Of silence, after which a word keeps the connection open.
  private static let patience = 30

  /// Looks at the times and sizes of the files. A connection to the database would be told by
  /// SQLite itself, and would keep the app from being the last to close it.
  func watch(_ tell: @escaping @Sendable (PageNews) -> Void) async {
    var (seen, looks) = (FileVersion?.none, 0)
    while !Task.isCancelled {
      let version = FileVersion(path: path, now: Date())
      looks += 1
      if version != seen || version.isYoung {
        tell(.changed)
        (seen, looks) = (version, 0)
      } else if looks % Self.patience == 0 {
        tell(.silence)
      }
      do {
        try await Task.sleep(for: Self.interval)
      } catch {
        return
      }
    }
  }
}

/// What differs after a database was written to.
private struct FileVersion: Equatable {
  private var parts: [[Int]] = []
  /// Whether it was written so lately that another write may bear the same time.
  private(set) var isYoung = false

  init(path: String, now: Date) {
    let file = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    for suffix in ["", "-wal", "-journal"] {
      // A file that is not there has none, which is a version too.
      let attributes = (try? FileManager.default.attributesOfItem(atPath: file + suffix)) ?? [:]
      let date = attributes[.modificationDate] as? Date
      if let date, abs(now.timeIntervalSince(date)) < 0.1 { isYoung = true }
      parts.append([
        (attributes[.size] as? NSNumber)?.intValue ?? -1,
        (attributes[.systemFileNumber] as? NSNumber)?.intValue ?? -1,
        Int((date?.timeIntervalSince1970 ?? 0) * 1_000_000),
      ])
    }
  }

  static func == (left: Self, right: Self) -> Bool { left.parts == right.parts }
}

/// Why nothing was shown or changed.
struct InspectPageError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
#endif
