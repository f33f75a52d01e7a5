import Foundation
import GRDB
import TernJobs

/// When an answer is likely to be there: after as long as the last ones of its service took.
struct ExpectedAnswer: Encodable {
  /// When the question was asked, and when the answer is likely to be there, in milliseconds since
  /// 1970.
  let since, until: Int64

  /// From fewer answers nothing follows, and from older ones nothing for today.
  private static let (fewest, most) = (3, 20)

  /// - Parameter job: of the question.
  /// - Returns: `nil` where nobody can tell: the last answers are too few, or the question was asked
  ///   before and has to wait for something else.
  init?(of job: JobRecord, in db: Database) throws {
    guard job.starts <= 1, job.failures == 0, job.unreached == 0 else { return nil }
    // One that had to be asked again took as long as its pauses.
    let took = try Double.fetchAll(
      db,
      sql: """
        SELECT (julianday(since) - julianday(enqueued_at)) * 86400000 FROM grdb_tern_jobs
        WHERE kind = ? AND service = ? AND state = 'done' AND starts = 1
        ORDER BY id DESC LIMIT ?
        """, arguments: [AnswerJob.kind, job.service, Self.most]
    ).sorted()
    guard took.count >= Self.fewest else { return nil }
    since = Int64(job.enqueuedAt.timeIntervalSince1970 * 1000)
    until = since + Int64(took[took.count / 2])
  }
}
