import Tern
import TernJobs

/// Work for a service with a gate.
struct Scan: Job {
  static let kind = "scan"
  static let service: String? = "recogniser"
  var shelf: String
}

/// Work without a service.
struct Tidy: Job {
  static let kind = "tidy"
  var name: String
}

struct Patient: Job {
  static let kind = "patient"
  static let retry = RetryPolicy.doubling(from: .seconds(10), limit: .seconds(20), times: 3)
}

/// Its retries are partly, or wholly, left to chance.
struct Halfway: Job {
  static let kind = "halfway"
  static let retry = RetryPolicy.doubling(
    from: .seconds(8), limit: .seconds(20), times: 3, jitter: .equal)
}

struct Anyhow: Job {
  static let kind = "anyhow"
  static let retry = RetryPolicy(delays: [.seconds(8), .seconds(16)], jitter: .full)
}

typealias Failure = JobFailure

extension JobFailure {
  init(_ advice: FailureAdvice) {
    self.init(advice, "the service would not")
  }
}

/// One that says nothing, and carries what is nobody's business.
enum Silent: Error {
  case because(secret: String)
}
