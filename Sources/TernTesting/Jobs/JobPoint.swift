import TernJobs

/// A place in an attempt at which ``JobHarness`` can let it fail, or its process die.
public enum JobPoint: Hashable, Sendable {
  /// The handler is to begin.
  case start
  /// A step's work is to begin. Not reached where an earlier attempt stored the step's result.
  case work(_ step: String)
  /// A step's work has returned: another service may have done what was asked, and nothing of it is
  /// stored.
  case answer(_ step: String)
  /// A step, or a value by its name, is written with its rows, and nothing is committed: what is
  /// thrown here is as if the app's own constraint refused the rows.
  case commit(_ step: String)
  /// It is committed, and nothing after it has begun.
  case committed(_ step: String)
  /// The handler has returned, and its end is not stored.
  case end

  init(_ point: AttemptPoint) {
    self =
      switch point {
      case .work(let step): .work(step)
      case .answer(let step): .answer(step)
      case .commit(let step): .commit(step)
      case .committed(let step): .committed(step)
      }
  }
}
