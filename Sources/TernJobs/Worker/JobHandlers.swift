import Foundation
import TernCore

/// Which code does which kind of job: filled as a ``JobWorker`` is made.
public struct JobHandlers: Sendable {
  package typealias Work = @Sendable (JobContext) async throws -> Void

  package typealias CredentialSource =
    @Sendable (_ lane: String?, _ refused: String?) async throws -> String?

  /// What the queue's rows are asked for by.
  private(set) var handled = HandledKinds()
  /// Each makes the work of a payload of a version.
  private var handlers: [String: @Sendable (Data, Int) -> Work] = [:]
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
    handled.add(J.self)
    handlers[J.kind] = { payload, version in
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
      handlers[kind] = { payload, version in
        let work = inner(payload, version)
        return { try await outer(kind, $0, work) }
      }
    }
  }

  /// The payload is read as the work begins: that is the app's code too, which may end the process,
  /// and holds no transaction open. The work throws ``Unusable`` where it cannot be read.
  ///
  /// - Parameter claim: of one of the kinds in ``handled``.
  func work(of claim: Claim) -> Work { handlers[claim.lane.kind]!(claim.payload, claim.version) }
}
