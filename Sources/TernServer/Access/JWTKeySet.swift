#if JWTs
import Foundation
import TernCore

/// The keys that JSON Web Tokens are verified with, from a file or a URL, read again now and then.
///
/// Also where a token names a key that isn't there, but not more often than
/// ``JWTKeySource/pause``: a stranger can send as many such tokens as they like.
actor JWTKeySet {
  private let source: JWTKeySource
  private let now: @Sendable () -> ContinuousClock.Instant
  private var keys: [JWTKey] = []
  private var loaded: ContinuousClock.Instant?
  private var tried: ContinuousClock.Instant?
  private var isLoading = false
  private var failure: (any Error)?

  init(
    _ source: JWTKeySource,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
  ) {
    (self.source, self.now) = (source, now)
  }

  /// Reads the keys for the first time.
  ///
  /// - Throws: ``JWTKeyError``, or what the source throws.
  func load() async throws {
    await reload()
    if let failure { throw failure }
  }

  /// The key that a token's header names; without a name, the only one.
  ///
  /// - Throws: ``RemoteError`` with `unavailable` where the keys are too old, or being read;
  ///   `nil` for one that isn't there.
  func key(named id: String?) async throws -> JWTKey? {
    if isOlder(loaded, than: source.refresh), isOlder(tried, than: source.pause) { await reload() }
    if let key = find(id) { return try checked(key) }
    if isOlder(tried, than: source.pause) { await reload() }
    if let key = find(id) { return try checked(key) }
    if isLoading { throw Self.unavailable("are being read") }
    return nil
  }

  private func find(_ id: String?) -> JWTKey? {
    guard let id else { return keys.count == 1 ? keys[0] : nil }
    return keys.first { $0.id == id }
  }

  /// What was withdrawn long ago is not to be trusted for ever because nobody can say so.
  private func checked(_ key: JWTKey) throws -> JWTKey {
    guard !isOlder(loaded, than: source.lifetime) else {
      throw Self.unavailable("could not be read for \(source.lifetime.components.seconds) s")
    }
    return key
  }

  private func isOlder(_ time: ContinuousClock.Instant?, than age: Duration) -> Bool {
    time.map { now() - $0 >= age } ?? true
  }

  private func reload() async {
    guard !isLoading else { return }
    (isLoading, tried) = (true, now())
    defer { isLoading = false }
    do {
      keys = try await JWTKey.all(in: source.read())
      (loaded, failure) = (now(), nil)
    } catch {
      failure = error
    }
  }

  /// Why the keys couldn't be read the last time.
  var lastFailure: (any Error)? { failure }

  private static func unavailable(_ why: String) -> RemoteError {
    RemoteError(
      .unavailable, "the keys of JSON Web Tokens \(why); try again", retryAfter: .seconds(5))
  }
}
#endif
