import GRDB

/// Lets Swift find the type of a step's result where its `commit` is one expression.
///
/// Swift types such an expression together with the call, before the statements of `work`. What
/// takes any kind of value then hides the result's type, as `arguments: [page.title]` does. A
/// builder's closure waits for `work`. The calls that take one are asked last, so that every
/// `commit` that Swift understands without them goes by the ordinary ones.
@resultBuilder
public enum StepCommit {
  /// What a commit of one expression returns.
  public struct Done {}

  public static func buildBlock(_ done: Void) -> Done { Done() }
}

extension JobContext {
  /// The first step, with a `commit` that is one expression.
  ///
  /// - Throws: as the first.
  @_disfavoredOverload
  public func step<R: Codable & Sendable>(
    _ name: String, isolation: isolated (any Actor)? = #isolation, _ work: () async throws -> R,
    @StepCommit commit: @Sendable (Database, R) throws -> StepCommit.Done
  ) async throws -> R {
    try await step(
      name, isolation: isolation, { _ in try await work() },
      commit: { db, result in _ = try commit(db, result) })
  }

  /// The same with a limit on its time.
  ///
  /// - Throws: as the step with a limit.
  @_disfavoredOverload
  public func step<R: Codable & Sendable>(
    _ name: String, within limit: Duration, isolation: isolated (any Actor)? = #isolation,
    _ work: @escaping @Sendable () async throws -> R,
    @StepCommit commit: @Sendable (Database, R) throws -> StepCommit.Done
  ) async throws -> R {
    try await step(
      name, within: limit, isolation: isolation, { _ in try await work() },
      commit: { db, result in _ = try commit(db, result) })
  }

  /// The same for a step with files.
  ///
  /// - Throws: as the step with files.
  @_disfavoredOverload
  public func step<R: Codable & Sendable>(
    _ name: String, isolation: isolated (any Actor)? = #isolation,
    _ work: (StepFiles) async throws -> R,
    @StepCommit commit: @Sendable (Database, R) throws -> StepCommit.Done
  ) async throws -> R {
    try await step(
      name, isolation: isolation, work, commit: { db, result in _ = try commit(db, result) })
  }

  /// The same for a step with files and a limit on its time.
  ///
  /// - Throws: as the step with files and a limit.
  @_disfavoredOverload
  public func step<R: Codable & Sendable>(
    _ name: String, within limit: Duration, isolation: isolated (any Actor)? = #isolation,
    _ work: @escaping @Sendable (StepFiles) async throws -> R,
    @StepCommit commit: @Sendable (Database, R) throws -> StepCommit.Done
  ) async throws -> R {
    try await step(
      name, within: limit, isolation: isolation, work,
      commit: { db, result in _ = try commit(db, result) })
  }
}
