#if Server && Rehearsal
import Foundation
import GRDB
import Tern
import TernNetwork

/// What a job's row says of one of its uploads, as the database holds it.
struct UploadRow: Equatable {
  enum Standing: Equatable {
    /// It goes on, or is to be begun.
    case begun(Begun)
    case answered
    case refused(isSteady: Bool)
    /// The job has failed of it, and it is counted.
    case spent
  }

  struct Begun: Equatable {
    let id: String
    /// Milliseconds since 1970.
    let since: Int64
    let until: Int64
    /// The job waits for it.
    let isAwaited: Bool
  }

  let standing: Standing
  /// How many had broken in a row with nobody to see it, before it or with it where it is spent.
  let breaks: Int
  /// As it is stored.
  let content: String

  var begun: Begun? {
    if case .begun(let begun) = standing { begun } else { nil }
  }

  /// By job and name.
  ///
  /// - Parameter before: what was read last, so that what has not changed is not read again.
  static func all(
    _ db: Database, _ before: [Int64: [String: UploadRow]]
  ) throws -> [Int64: [String: UploadRow]] {
    let statement = try db.cachedStatement(
      sql: """
        SELECT job, name, kind, CAST(content AS TEXT) FROM grdb_tern_jobcheckpoint
        WHERE kind IN (3, 4) OR kind = 0 AND name GLOB '*.up[0-9]'
        """)
    var found: [Int64: [String: UploadRow]] = [:]
    let cursor = try Row.fetchCursor(statement)
    while let row = try cursor.next() {
      let (job, name, content): (Int64, String, String) = (row[0], row[1], row[3])
      if found[job]?[name] != nil { throw TwoStandings(job: job, name: name) }
      if let old = before[job]?[name], old.content == content {
        found[job, default: [:]][name] = old
      } else {
        let (standing, breaks) = try read(row[2], content)
        found[job, default: [:]][name] = UploadRow(
          standing: standing, breaks: breaks, content: content)
      }
    }
    return found
  }

  private static func read(_ kind: Int, _ content: String) throws -> (Standing, breaks: Int) {
    let content = Data(content.utf8)
    switch kind {
    case 3:
      let stored = try JSONDecoder().decode(StoredUpload.self, from: content)
      let begun = Begun(
        id: stored.id, since: stored.limit.since.milliseconds,
        until: stored.limit.until.milliseconds, isAwaited: stored.isAwaited)
      return (.begun(begun), stored.breaks ?? 0)
    case 4:
      let stored = try JSONDecoder().decode(StoredRefusal.self, from: content)
      let isSpent = stored.spent ?? false
      return (isSpent ? .spent : .refused(isSteady: stored.isSteady), stored.breaks ?? 0)
    default: return (.answered, 0)
    }
  }
}

/// An upload is begun, answered or refused, and never two of them.
struct TwoStandings: Error {
  let job: Int64
  let name: String
}

/// What Tern stores of an upload, read without Tern.
private struct StoredUpload: Decodable {
  struct Limit: Decodable {
    struct Time: Decodable {
      let milliseconds: Int64
    }
    let since: Time
    let until: Time
  }
  let id: String
  let limit: Limit
  let isAwaited: Bool
  let breaks: Int?
}

private struct StoredRefusal: Decodable {
  let isSteady: Bool
  let breaks: Int?
  let spent: Bool?
}

/// What is known of uploads, and of what else is sent, beside the queue.
struct UploadBook {
  var rows: [Int64: [String: UploadRow]] = [:]
  /// The ids under which uploads were begun: none is used for another one.
  var ids: Set<String> = []
  /// Since when no row wants what the system may have.
  var unwanted: [String: Int64] = [:]
  /// Which networks a worker's run may have seen as it handed one over; empty where it saw none.
  var handed: [String: (run: Int, paths: [NetworkPath])] = [:]
  /// What the system had as a worker's run compared it with the rows.
  var listed: (run: Int, ids: Set<String>)?
  /// The idempotency keys, by what they are for, and that by them.
  var keys: [String: String] = [:]
  var purposes: [String: String] = [:]
  /// What was sent with them.
  var bodies: [String: [UInt8]] = [:]
  /// What refusals mean to whoever sent an upload, as they were drawn.
  var meanings: [TransferAnswer: FailureAdvice] = [:]

  func id(_ job: Int64, _ name: String) -> String? { rows[job]?[name]?.begun?.id }

  /// Whose upload an id is.
  func place(of id: String) -> (job: Int64, name: String)? {
    let parts = id.split(separator: ":", maxSplits: 4, omittingEmptySubsequences: false)
    guard parts.count == 5, let job = Int64(parts[1]) else { return nil }
    return (job, String(parts[4]))
  }
}
#endif
