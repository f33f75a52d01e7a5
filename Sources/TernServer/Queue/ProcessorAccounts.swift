#if Server
import Synchronization
import TernCore

/// Counts what the requests of each token cost of the processors, and refuses them where that is
/// more than an allowance, which a minute restores.
///
/// What a request costs is known when it is done: what is under way then goes on.
///
/// - Source: a token bucket, as RFC 2697 has it, whose count may go below zero.
final class ProcessorAccounts: Sendable {
  private struct Spending {
    var amount: Duration
    /// Of the uptime. Since then some was restored.
    var since: Duration
  }

  private struct State {
    var spending: [TokenDigest: Spending] = [:]
    /// With so many tokens, those that owe nothing any more are forgotten.
    var sweepCount = 1_024
  }

  /// The account whose work this task does.
  @TaskLocal static var current: ProcessorAccount?

  private let allowance: Duration
  /// Of one processor: what time restores.
  private let share: Double
  private let clock: ProcessorClock
  private let state = Mutex(State())

  init(allowance: Duration, clock: ProcessorClock = .system) {
    self.allowance = allowance
    share = max(allowance, .milliseconds(1)) / .seconds(60)
    self.clock = clock
  }

  /// How many tokens are remembered.
  var count: Int { state.withLock { $0.spending.count } }

  /// Runs `body` as a token's work: what the ``StoreQueue`` does for it costs the token.
  ///
  /// - Throws: ``TooManyRequests``, without having run `body`; what `body` throws.
  func charging<Value>(
    _ token: TokenDigest, isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws -> Value
  ) async throws -> Value {
    let account = ProcessorAccount(accounts: self, token: token)
    try account.check()
    return try await Self.$current.withValue(account, operation: body)
  }

  /// What a token has spent of its allowance now.
  func spent(by token: TokenDigest) -> Duration {
    let now = clock.uptime()
    return state.withLock { $0.spending[token].map { rest(of: $0, at: now) } ?? .zero }
  }

  /// - Throws: ``TooManyRequests`` where that is all of it.
  fileprivate func check(_ token: TokenDigest) throws(TooManyRequests) {
    let spent = spent(by: token)
    guard spent > allowance else { return }
    let wait = Int64((((spent - allowance) / .seconds(1)) / share).rounded(.up))
    throw TooManyRequests(
      "processorPerToken: requests with this token have taken the processor time that they may, "
        + "\(allowance.components.seconds) s a minute", retryAfter: .seconds(max(1, wait)))
  }

  fileprivate func measuring<Value>(_ token: TokenDigest, _ work: () throws -> Value) rethrows
    -> Value
  {
    let start = clock.threadTime()
    defer { add(clock.threadTime() - start, to: token) }
    return try work()
  }

  private func add(_ cost: Duration, to token: TokenDigest) {
    let now = clock.uptime()
    state.withLock { state in
      let before = state.spending[token].map { rest(of: $0, at: now) } ?? .zero
      state.spending[token] = Spending(amount: before + cost, since: now)
      guard state.spending.count >= state.sweepCount else { return }
      state.spending = state.spending.filter { rest(of: $0.value, at: now) > .zero }
      state.sweepCount = max(1_024, 2 * state.spending.count)
    }
  }

  private func rest(of spending: Spending, at now: Duration) -> Duration {
    max(.zero, spending.amount - (now - spending.since) * share)
  }
}

/// The account of one token.
struct ProcessorAccount: Sendable {
  fileprivate let accounts: ProcessorAccounts
  fileprivate let token: TokenDigest

  /// - Throws: ``TooManyRequests`` where the token has spent its allowance.
  func check() throws(TooManyRequests) { try accounts.check(token) }

  /// Charges the token with what `work` costs on this thread, also where it throws.
  func measuring<Value>(_ work: () throws -> Value) rethrows -> Value {
    try accounts.measuring(token, work)
  }
}
#endif
