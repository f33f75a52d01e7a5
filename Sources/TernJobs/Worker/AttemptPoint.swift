/// A place in a job's attempt at which a test may let it fail, or its process die. What is thrown
/// there is the handler's failure.
package enum AttemptPoint: Hashable, Sendable {
  /// A step's work is to begin; not where its result is stored.
  case work(String)
  /// It has returned, and nothing of it is stored.
  case answer(String)
  /// A step or a value is written, and the transaction is still open.
  case commit(String)
  case committed(String)

  /// No bare closure: as the value of a task local it ends an optimised process
  /// (https://github.com/swiftlang/swift/pull/88321, not in Swift 6.3).
  package struct Handler: Sendable {
    let reach: @Sendable (AttemptPoint) throws -> Void

    package init(_ reach: @escaping @Sendable (AttemptPoint) throws -> Void) { self.reach = reach }
  }

  /// `nil` for every attempt that no test has to do with.
  @TaskLocal package static var handler: Handler?
  /// Whether this task only measures the time of something else, so that its sleep is no sign that
  /// the attempt waits for a time to come.
  @TaskLocal package static var isTimer = false

  static func reach(_ point: AttemptPoint) throws { try handler?.reach(point) }
}
