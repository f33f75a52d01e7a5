#if Rehearsal
import Synchronization

@_spi(Rehearsal) extension CrashPoint {
  public typealias Handler = @Sendable (CrashPoint) throws -> Void

  private static let process = Mutex<Reaction?>(nil)
  @TaskLocal private static var task: Reaction?

  /// A handler, and no bare closure.
  ///
  /// As the value of a task local that ends an optimised process
  /// (https://github.com/swiftlang/swift/pull/88321, not in Swift 6.3). In a mutex each read wraps
  /// it in two more functions, until calling it takes more than the stack.
  private struct Reaction: Sendable {
    let handler: Handler
  }

  public static func reach(_ point: CrashPoint) throws {
    if let reaction = task ?? process.withLock({ $0 }) { try reaction.handler(point) }
  }

  /// Runs `body`, and the tasks that it makes, with a handler that is called at every point.
  public static func with<T>(_ handler: @escaping Handler, _ body: () throws -> T) rethrows -> T {
    try $task.withValue(Reaction(handler: handler), operation: body)
  }

  public static func with<T>(_ handler: @escaping Handler, _ body: () async throws -> T)
    async rethrows -> T
  {
    try await $task.withValue(Reaction(handler: handler), operation: body)
  }

  /// For the rest of this process's life.
  public static func handle(_ handler: @escaping Handler) {
    process.withLock { $0 = Reaction(handler: handler) }
  }
}
#else
@_spi(Rehearsal) extension CrashPoint {
  /// Does not even look at which point it is.
  @inlinable
  public static func reach(_ point: @autoclosure () -> CrashPoint) throws {}
}
#endif
