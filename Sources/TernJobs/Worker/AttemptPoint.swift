/// A place in a job's attempt at which a test may let it fail, or its process die. What is thrown there
/// is the handler's failure.
package enum AttemptPoint: Hashable, Sendable {
  /// A step's work is to begin; not where its result is stored.
  case work(String)
  /// It has returned, and nothing of it is stored.
  case answer(String)
  /// A step or a value is written, and the transaction is still open.
  case commit(String)
  case committed(String)

  package typealias Handler = @Sendable (AttemptPoint) throws -> Void

  /// `nil` for every attempt that no test has to do with.
  @TaskLocal package static var handler: Handler?
  /// Whether this task only measures the time of something else, so that its sleep is no sign that the
  /// attempt waits for a time to come.
  @TaskLocal package static var isTimer = false

  static func reach(_ point: AttemptPoint) throws { try handler?(point) }
}
