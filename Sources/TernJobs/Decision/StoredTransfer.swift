import Foundation
import TernCore

/// What a system has a transfer by: of one attempt of one job, in no other database.
struct TransferID {
  let job: JobID
  let name: String
  let text: String

  /// - Parameter queue: its random id.
  init(queue: String, _ job: JobID, _ enqueued: WallTime, start: Int, name: String) {
    (self.job, self.name) = (job, name)
    text = "\(queue):\(job):\(enqueued.milliseconds):\(start):\(name)"
  }

  /// - Returns: `nil` for what is none of ours.
  init?(_ text: String) {
    let parts = text.split(separator: ":", maxSplits: 4, omittingEmptySubsequences: false)
    guard parts.count == 5, let job = Int64(parts[1]) else { return nil }
    (self.job, name, self.text) = (JobID(rawValue: job), String(parts[4]), text)
  }
}

/// What is stored of a transfer before a system has it, until its answer is.
struct BegunTransfer: Codable, Hashable {
  let id: String
  var limit: DeadlineLife
  /// Whether the job waits for its end, and for nothing else: for no retry of its own, say.
  var isAwaited: Bool
  /// As of those before it; see ``RefusedTransfer``.
  var breaks: Int?
  /// A ``CredentialMark``: of what the attempt that began it was given.
  var credential: UInt32?
}

/// What was seen of a transfer's network.
enum TransferSight {
  /// It was one and the same from the transfer's beginning to its end.
  case steady
  /// It went or changed, and this process was the one that sent.
  case unsteady
  /// The process that looks at it may have been suspended or dead, and the transfer went on.
  case unseen
}

/// What is stored of one that did not come to what its job wanted, until an attempt has
/// failed of it.
struct RefusedTransfer: Codable, Hashable {
  /// Whether there was one and the same network from its beginning to its end, and this
  /// process saw it.
  private(set) var isSteady: Bool
  /// `nil` where nobody answered in time.
  private(set) var answer: Data?
  private var isUnseen: Bool?
  /// How many of the job's by its name had broken unseen before, in a row; `nil` for none.
  private(set) var breaks: Int?
  /// ``BegunTransfer/credential``.
  private(set) var credential: UInt32?
  /// An attempt has failed of it: that number alone is left, for the next transfer.
  private var spent: Bool?

  var isSpent: Bool { spent ?? false }

  init(_ sight: TransferSight, answer: Data?, of begun: BegunTransfer) {
    (isSteady, self.answer, breaks) = (sight == .steady, answer, begun.breaks)
    credential = begun.credential
    if sight == .unseen { isUnseen = true }
  }

  /// As far as they count: whatever a database holds.
  var unseenBreaks: Int {
    isUnseen ?? false ? min(max(breaks ?? 0, 0), JobLife.freeBreaks) : 0
  }

  /// What is kept as an attempt fails, if anything. Who reached nobody has neither broken nor
  /// come to an end, and what is anything else ends the row.
  func afterFailure(_ advice: FailureAdvice?) -> RefusedTransfer? {
    var kept = self
    (kept.answer, kept.isUnseen, kept.spent, kept.credential) = (nil, nil, true, nil)
    switch advice {
    case .interrupted where isUnseen ?? false:
      kept.breaks = min(unseenBreaks + 1, JobLife.freeBreaks)
    case .interrupted, .unreachable: break
    case .failed, .permanent, .limited, nil: kept.breaks = nil
    }
    return kept.breaks == nil ? nil : kept
  }
}
