#if canImport(Darwin) || Rehearsal
import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Uploads by a background session of URLSession, for Apple platforms: they go on while the app is
/// suspended or was ended by the system, which launches it again for their answers. Make it at each
/// launch of the app, once for each identifier, and keep it for the life of the process: the system
/// knows one session by it.
///
/// - Important: Not verified: no Apple machine has run it yet. With the trait `Rehearsal` it is
///   compiled on Linux too, where tests run it over an ordinary session, which ends
///   with its process.
///
/// The system follows redirects of such an upload by itself. An answer from another origin than the
/// request's is ``HTTPError/Code/otherOrigin``; what the request carried has been there. Where a
/// redirect within the origin had the system ask for another page, without the file, the answer is
/// ``HTTPError/Code/unexpectedBody``, whatever that page says.
/// ``HTTPRequest/timeout``, ``HTTPRequest/connectTimeout`` and ``HTTPRequest/isRepeatable`` have no
/// counterpart here.
public final class URLSessionTransfers: BackgroundTransfers {
  private let session: URLSession
  let events: URLSessionTransferEvents
  /// Held while a task has no name yet.
  private let naming = Mutex(())

  /// - Parameters:
  ///   - identifier: the session's, the same at each launch, and another one for each queue.
  ///   - isDiscretionary: whether the system may wait for a good moment: for power and Wi-Fi.
  ///   - answerLimit: of an answer's body, in bytes; a longer one is
  ///     ``HTTPError/Code/bodyTooLarge``, and left out where the status is none of 200 to 299.
  public init(
    _ identifier: String, isDiscretionary: Bool = false, answerLimit: Int = 256 << 10
  ) {
    #if canImport(Darwin)
    let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
    configuration.isDiscretionary = isDiscretionary
    configuration.sessionSendsLaunchEvents = true
    #else
    let configuration = URLSessionConfiguration.ephemeral
    #endif
    configuration.httpShouldSetCookies = false
    configuration.httpCookieStorage = nil
    configuration.urlCache = nil
    configuration.urlCredentialStorage = nil
    events = URLSessionTransferEvents(answerLimit: max(answerLimit, 0))
    session = URLSession(configuration: configuration, delegate: events, delegateQueue: nil)
  }

  deinit {
    // What goes on goes on, and is the next instance's.
    session.finishTasksAndInvalidate()
  }

  public var endsWithProcess: Bool {
    #if canImport(Darwin)
    false
    #else
    true
    #endif
  }

  public func begin(_ id: String, _ request: HTTPRequest, file: URL) async throws {
    if let task = await tasks().first(where: { $0.taskDescription == id }) {
      // A process may have died between making it and this.
      return task.resume()
    }
    if await ids().contains(id) { return }
    let origin = try request.validated()
    guard let url = URL(string: request.url) else {
      throw HTTPError(.invalidURL, origin: origin, "the system can't read it")
    }
    // As the other transports look at it, and closed again: the system opens it by itself.
    do throws(HTTPError) { _ = try OpenFile(file.path(percentEncoded: false)) } catch {
      throw HTTPError(error.code, origin: origin, error.detail)
    }
    let foundation = request.foundation(url)
    naming.withLock { _ in
      let task = session.uploadTask(with: foundation, fromFile: file)
      task.taskDescription = id
      task.resume()
    }
  }

  public func ids() async -> Set<String> {
    let going = await tasks().compactMap(\.taskDescription)
    // What the system told before is known by now.
    await withCheckedContinuation { continuation in
      session.delegateQueue.addOperation { continuation.resume() }
    }
    return events.answered.union(going)
  }

  public func forget(_ id: String) async {
    let tasks = await tasks().filter { $0.taskDescription == id }
    events.forget(id, cancelling: tasks.map(\.taskIdentifier))
    for task in tasks { task.cancel() }
  }

  public func run(
    _ take: @escaping @Sendable (_ id: String, TransferAnswer) async -> Void
  ) async {
    await withDiscardingTaskGroup { group in
      for await (id, answer) in events.answers() { group.addTask { await take(id, answer) } }
    }
  }

  /// For what the app's delegate is given by
  /// `application(_:handleEventsForBackgroundURLSession:completionHandler:)`.
  ///
  /// Answers are stored by a worker that runs, in a database that is not suspended: see to both
  /// in that launch.
  ///
  /// - Parameter completion: is called when the system has told all answers and they are stored.
  ///   After it the system may suspend the app.
  @MainActor public func finishEvents(_ completion: @escaping () -> Void) {
    // UIKit's own is not said to be for the main actor, nor to be sendable.
    events.finish { completion() }
  }

  /// Those that have a name; a process died while it made any other.
  private func tasks() async -> [URLSessionTask] {
    let tasks = await withCheckedContinuation { continuation in
      session.getAllTasks { continuation.resume(returning: $0) }
    }
    return naming.withLock { _ in
      for task in tasks where task.taskDescription == nil { task.cancel() }
      return tasks.filter { $0.taskDescription != nil }
    }
  }
}
#endif
