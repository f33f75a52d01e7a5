#if Telemetry
import TernJobs

/// How an attempt ended, in the few words that a metric's dimension may have.
enum AttemptOutcome: String {
  case done
  /// It failed and counts, and another follows.
  case failed
  /// It failed and does not count.
  case uncounted
  /// Its service closed its gate.
  case limited
  /// It was the job's last.
  case last
  case parked, stopped, entrusted, died, abandoned

  /// - Returns: `nil` where no attempt ended; without a time where that is not known.
  static func of(_ change: JobEvent.Change) -> (AttemptOutcome, ran: Duration?)? {
    switch change {
    case .done(let ran, _): (.done, ran)
    case .failed(let failure, let ran): (AttemptOutcome(failure), ran)
    case .stopped(let ran): (.stopped, ran)
    case .entrusted(let ran): (.entrusted, ran)
    case .died: (.died, nil)
    case .parked(.deaths, _, _): (.died, nil)
    case .parked(_, _, let ran?): (.parked, ran)
    case .abandoned(let ran): (.abandoned, ran)
    default: nil
    }
  }

  private init(_ failure: JobEvent.Failure) {
    self =
      switch failure.next {
      case .never: .last
      case .gate: .limited
      case .after: failure.counts ? .failed : .uncounted
      }
  }
}

/// Why nothing more happens with a job by itself.
enum JobOutcome: String {
  case done, failed, parked, cancelled, removed

  init?(_ change: JobEvent.Change) {
    switch change {
    case .done: self = .done
    case .failed(let failure, _) where failure.next == .never: self = .failed
    case .parked: self = .parked
    case .cancelled: self = .cancelled
    case .removed: self = .removed
    default: return nil
    }
  }
}
#endif
