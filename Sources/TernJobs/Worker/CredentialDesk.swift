import Foundation
import TernCore

/// The app's credentials, as attempts ask for them.
actor CredentialDesk {
  private let handlers: JobHandlers
  private let database: WorkerDatabase
  /// Lanes whose attempts ask the app for another credential, and who waits for his turn there.
  private var asking: [JobLane: [CheckedContinuation<Void, Never>]] = [:]

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    database.queue.environment.executor.asUnownedSerialExecutor()
  }

  init(_ handlers: JobHandlers, _ database: WorkerDatabase) {
    (self.handlers, self.database) = (handlers, database)
  }

  /// The lane's credential, and not the one that is refused already: for that the app is asked for
  /// another, once.
  nonisolated func credential(of claim: Claim, _ attempt: AttemptState) async throws -> String {
    guard let source = handlers.credential(of: claim.lane.kind) else {
      throw JobFailure(
        .permanent, "nothing says which credential jobs “\(claim.lane.kind)” have; register that")
    }
    let refused = try await refusedCredential(of: claim.lane)
    let lane = claim.lane.name.isEmpty ? nil : claim.lane.name
    func ask(insteadOf old: String?) async throws -> (String, CredentialMark)? {
      guard let new = try await Self.ask({ try await source(lane, old) }) else { return nil }
      return (new, CredentialMark(of: new, queue: claim.queue))
    }
    var found = try await ask(insteadOf: nil)
    if found?.1 == refused, found != nil {
      found = try await asking(lane: claim.lane) {
        // Whoever asked before may have been given another.
        guard let old = try await ask(insteadOf: nil) else { return nil }
        return old.1 == refused ? try await ask(insteadOf: old.0) : old
      }
    }
    guard let (credential, mark) = found, mark != refused else { throw CredentialMissing() }
    attempt.note(credential: mark)
    return credential
  }

  /// One attempt of a lane after the other.
  private nonisolated func asking<T>(
    lane: JobLane, _ body: () async throws -> T
  ) async throws -> T {
    await enter(lane)
    do {
      let result = try await body()
      await leave(lane)
      return result
    } catch {
      await leave(lane)
      throw error
    }
  }

  private func enter(_ lane: JobLane) async {
    while asking[lane] != nil {
      await withCheckedContinuation { asking[lane]?.append($0) }
    }
    asking[lane] = []
  }

  private func leave(_ lane: JobLane) {
    for waiter in asking.removeValue(forKey: lane) ?? [] { waiter.resume() }
  }

  private func refusedCredential(of lane: JobLane) async throws -> CredentialMark? {
    try await database.read { try $0.credentials.credential(lane)?.refused }
  }

  /// Whatever the app's closure throws costs no attempt: nothing of the job's own has failed.
  private nonisolated static func ask(
    _ body: () async throws -> String?
  ) async throws -> String? {
    do {
      return try await body()
    } catch let error as CancellationError {
      throw error
    } catch let error as any AdvisingError where error.advice == .permanent {
      throw CredentialMissing(underlyingError: error)
    } catch {
      throw JobFailure(
        .unreachable, "the app could not get its credential", underlyingError: error)
    }
  }
}

extension CredentialLife.Event {
  /// What a failure says of the credential that its attempt was given, if anything.
  init?(saidBy error: any Error, of given: CredentialMark?) {
    if error is CredentialMissing {
      self = .missing
      return
    }
    guard let given, let error = error as? any AdvisingError, error.advice == .permanent,
      error.refusesCredential
    else { return nil }
    self = .refused(given)
  }
}

/// There is no credential, or none but the one that was refused.
struct CredentialMissing: AdvisingError {
  var underlyingError: (any Error)?

  // Of a handler that takes it for its own.
  var advice: FailureAdvice { .permanent }
}

extension CredentialMissing: LocalizedError {
  var errorDescription: String? {
    "the app has no credential, or none that was not refused"
      + (underlyingError.map { ": \(FailureText.of($0))" } ?? "")
  }
}
