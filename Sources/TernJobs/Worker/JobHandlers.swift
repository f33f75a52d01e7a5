import Foundation
import TernCore

/// Which code does which kind of job: filled as a ``JobWorker`` is made.
public struct JobHandlers: Sendable {
  package typealias Work = @Sendable (JobContext) async throws -> Void

  private struct Handler: Sendable {
    let retry: RetryPolicy
    let limit: Duration?
    let version: Int
    let pace: JobPace
    let lanePace: JobPace
    let prepare: @Sendable (Data, Int) -> Work
  }

  package typealias CredentialSource =
    @Sendable (_ lane: String?, _ refused: String?) async throws -> String?

  private var handlers: [String: Handler] = [:]
  private var credentials: [String: CredentialSource] = [:]

  package init() {}

  /// Registers what does jobs of a type. At most one for each kind.
  ///
  /// The closure can run again for the same job: after it threw, and after the process died. What
  /// it does outside of ``JobContext``'s steps then happens again. It is cancelled when the worker
  /// is, which costs the job no attempt, and begins again with the next run, even where it
  /// returns after that.
  public mutating func handle<J: Job>(
    _ type: J.Type, _ body: @escaping @Sendable (J, JobContext) async throws -> Void
  ) {
    precondition(handlers[J.kind] == nil, "two handlers are registered for jobs “\(J.kind)”")
    precondition(J.attemptLimit.map { $0 > .zero } ?? true, "an attempt of “\(J.kind)” takes time")
    handlers[J.kind] = Handler(
      retry: J.retry, limit: J.attemptLimit, version: J.version, pace: J.pace, lanePace: J.lanePace
    ) { payload, version in
      { try await body(try Self.job(J.self, payload, version: version), $0) }
    }
  }

  /// Registers where the credential for jobs of a type comes from: a token, say. At most once for
  /// each kind.
  ///
  /// - Parameter source: is asked by ``JobContext/credential()``, by several attempts at once, for
  ///   the credential of a lane (`nil` for jobs without one). With the second argument, for another
  ///   one than that, which was refused. `nil` says that there is none, as does a permanent error:
  ///   the lane's jobs wait. Other errors cost no attempt.
  public mutating func credential<J: Job>(
    for type: J.Type,
    _ source:
      @escaping @Sendable (_ lane: String?, _ refused: String?) async throws -> String?
  ) {
    precondition(
      credentials[J.kind] == nil, "two sources are registered for credentials of “\(J.kind)”")
    credentials[J.kind] = source
  }

  func credential(of kind: String) -> CredentialSource? { credentials[kind] }

  /// What a payload says.
  package static func job<J: Job>(
    _ type: J.Type, _ payload: Data, version: Int
  ) throws(Unusable) -> J {
    do {
      return version < J.version
        ? try J.migrate(payload, from: version) : try JobCoding.decode(J.self, payload)
    } catch {
      throw Unusable(
        .unreadable, "its payload cannot be read as a “\(J.kind)”: \(FailureText.of(error))")
    }
  }

  /// Does each handler's work within something else, as a test does that watches it.
  package mutating func surround(
    _ outer: @escaping @Sendable (_ kind: String, JobContext, Work) async throws -> Void
  ) {
    for (kind, inner) in handlers {
      handlers[kind] = Handler(
        retry: inner.retry, limit: inner.limit, version: inner.version, pace: inner.pace,
        lanePace: inner.lanePace
      ) { payload, version in
        let work = inner.prepare(payload, version)
        return { try await outer(kind, $0, work) }
      }
    }
  }

  var kinds: Set<String> { Set(handlers.keys) }

  /// The bounds that hold for a lane: its kind's, and its own.
  func paces(_ lane: JobLane) -> [(lane: JobLane, pace: JobPace)] {
    guard let handler = handlers[lane.kind] else { return [] }
    var paces: [(JobLane, JobPace)] = []
    if handler.pace != .unbounded { paces.append((lane.ofKind, handler.pace)) }
    if !lane.name.isEmpty, handler.lanePace != .unbounded { paces.append((lane, handler.lanePace)) }
    return paces
  }

  /// The payload is read as the work begins: that is the app's code too, which may end the process,
  /// and holds no transaction open.
  ///
  /// - Throws: where no handler here can read it. The work itself throws ``Unusable`` too.
  package func prepare(_ kind: String, _ payload: Data, version: Int) throws(Unusable) -> (
    work: Work, retry: RetryPolicy, limit: Duration?
  ) {
    guard let handler = handlers[kind] else {
      throw Unusable(.noHandler, "this app has no handler for jobs “\(kind)”")
    }
    guard version <= handler.version else {
      throw Unusable(
        .newerVersion,
        "a newer version of this app enqueued it (\(kind) \(version)); update the app")
    }
    return (handler.prepare(payload, version), handler.retry, handler.limit)
  }
}

/// Why a job is parked.
package struct Unusable: Error {
  package let cause: JobEvent.Parking
  package let reason: String

  init(_ cause: JobEvent.Parking, _ reason: String) {
    (self.cause, self.reason) = (cause, reason)
  }
}
