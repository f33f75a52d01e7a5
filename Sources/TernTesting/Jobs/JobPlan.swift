import Tern
import TernJobs

/// What a test lets happen to the next job of a kind that reaches a point.
struct JobPlan: Sendable {
  enum Event: Sendable {
    case failure(any Error)
    case death
  }

  let kind: String
  let point: JobPoint
  let event: Event
  /// How often it is still to happen.
  var count: Int
}

extension JobPlan: CustomStringConvertible {
  var description: String {
    let event =
      switch event {
      case .failure: "a failure"
      case .death: "a crash"
      }
    return "\(event) of “\(kind)” at \(point), \(count) times"
  }
}

/// Ends an attempt whose process dies.
struct ProcessDied: Error {}
