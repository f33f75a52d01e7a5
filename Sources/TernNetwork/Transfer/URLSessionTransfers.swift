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
/// request's is ``HTTPError/Code/otherOrigin``; what the request carried has been there.
/// ``HTTPRequest/timeout``, ``HTTPRequest/connectTimeout`` and ``HTTPRequest/isRepeatable`` have no
/// counterpart here.
public final class URLSessionTransfers: BackgroundTransfers {
  private let session: URLSession
  private let events: URLSessionTransferEvents
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
    events = URLSessionTransferEvents(answerLimit: answerLimit)
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
    for task in await tasks() where task.taskDescription == id { task.cancel() }
    events.forget(id)
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
  @MainActor public func finishEvents(_ completion: @escaping @MainActor () -> Void) {
    events.finish(completion)
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

/// What a session reports of uploads, kept until it is stored elsewhere.
final class URLSessionTransferEvents: NSObject, URLSessionDataDelegate, Sendable {
  private struct State {
    var bodies: [Int: [UInt8]] = [:]
    /// In the order in which they came.
    var answers: [(id: String, answer: TransferAnswer)] = []
    var listener: AsyncStream<(String, TransferAnswer)>.Continuation?
    /// The system has told all that it has, since it launched the app for it.
    var isToldAll = false
    /// What the system waits for.
    var completions: [@MainActor () -> Void] = []

    mutating func takeCompletions() -> [@MainActor () -> Void] {
      guard isToldAll, answers.isEmpty else { return [] }
      defer { (completions, isToldAll) = ([], false) }
      return completions
    }
  }

  private let state = Mutex(State())
  private let answerLimit: Int

  init(answerLimit: Int) {
    self.answerLimit = answerLimit
  }

  var answered: Set<String> { state.withLock { Set($0.answers.map(\.id)) } }

  /// Those from before, and those that come.
  func answers() -> AsyncStream<(String, TransferAnswer)> {
    let (stream, listener) = AsyncStream.makeStream(of: (String, TransferAnswer).self)
    state.withLock { state in
      state.listener = listener
      for (id, answer) in state.answers { listener.yield((id, answer)) }
    }
    return stream
  }

  func forget(_ id: String) {
    call(
      state.withLock { state in
        state.answers.removeAll { $0.id == id }
        return state.takeCompletions()
      })
  }

  func finish(_ completion: @escaping @MainActor () -> Void) {
    call(
      state.withLock { state in
        state.completions.append(completion)
        return state.takeCompletions()
      })
  }

  private func call(_ completions: [@MainActor () -> Void]) {
    if completions.isEmpty { return }
    DispatchQueue.main.async {
      MainActor.assumeIsolated { for completion in completions { completion() } }
    }
  }

  // MARK: - The session

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let isTooLong = state.withLock { state in
      let body = state.bodies[dataTask.taskIdentifier, default: []]
      // One byte over the limit says that it is over.
      let room = max(answerLimit + 1 - body.count, 0)
      state.bodies[dataTask.taskIdentifier] = body + data.prefix(room)
      return data.count >= room
    }
    if isTooLong { dataTask.cancel() }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {
    let body = state.withLock { $0.bodies.removeValue(forKey: task.taskIdentifier) } ?? []
    guard let id = task.taskDescription else { return }
    let answer = answer(of: task, body, error)
    state.withLock { state in
      state.answers.append((id, answer))
      state.listener?.yield((id, answer))
    }
  }

  private func answer(
    of task: URLSessionTask, _ body: [UInt8], _ error: (any Error)?
  ) -> TransferAnswer {
    func origin(_ url: URL?) -> Origin? {
      // `nil` is the answer for what is no address.
      url.flatMap { try? Origin(of: $0.absoluteString) }
    }
    let asked = origin(task.originalRequest?.url)
    let isTooLong = body.count > answerLimit
    let status = (task.response as? HTTPURLResponse)?.statusCode
    if isTooLong, status.map(TransferAnswer.isWanted) ?? true {
      return .failure(
        HTTPError(.bodyTooLarge, origin: asked, "over the limit of \(answerLimit) bytes"))
    }
    // That of a task whose answer is too long is this one's own.
    let error = isTooLong ? nil : error
    if (error as? URLError)?.code == .cancelled {
      // By a person who ended the app, say: not the service's doing, nor the connection's.
      return .failure(HTTPError(.shutDown, origin: asked, "the system cancelled the upload"))
    }
    if let error {
      let unknown = HTTPError(.connectionLost, origin: nil, "the request is not known")
      return .failure(asked.map { URLSessionEvents.httpError(error, origin: $0) } ?? unknown)
    }
    guard let response = task.response as? HTTPURLResponse, origin(response.url) == asked else {
      return .failure(HTTPError(.otherOrigin, origin: asked, "the answer is another server's"))
    }
    let fields = response.allHeaderFields.map { name, value in
      HTTPHeaders.Field(name: "\(name)", value: "\(value)")
    }
    var head = ResponseHead(status: response.statusCode, headers: HTTPHeaders(fields))
    head.forgetCoding()
    // The status says more than that its reason is too long.
    return .response(status: head.status, headers: head.headers, body: isTooLong ? [] : body)
  }

  #if canImport(Darwin)
  func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
    call(
      state.withLock { state in
        // Where nobody waits for it, who does so later waits for what is told then.
        state.isToldAll = !state.completions.isEmpty
        return state.takeCompletions()
      })
  }
  #else
  /// What the system does on Apple platforms is not to be had here: an answer of another status.
  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
    completionHandler: @escaping (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }
  #endif
}
#endif
