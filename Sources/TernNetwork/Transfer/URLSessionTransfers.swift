#if canImport(Darwin) || Rehearsal
import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Uploads by a background session of URLSession, for Apple platforms: they go on while the app is suspended or
/// was ended by the system, which launches it again for their answers. Make it at each launch of the app.
///
/// - Important: Not verified: no Apple machine has run it yet. With the trait `Rehearsal` it is compiled on Linux
///   too, where tests run it over an ordinary session, which ends with its process.
///
/// The system follows redirects of such an upload by itself. An answer from another origin than the request's is
/// ``HTTPError/Code/otherOrigin``; what the request carried has been there. ``HTTPRequest/deadline``,
/// ``HTTPRequest/connectTimeout`` and ``HTTPRequest/isRepeatable`` have no counterpart here.
public final class URLSessionTransfers: BackgroundTransfers {
  private let session: URLSession
  private let events: URLSessionTransferEvents

  /// - Parameters:
  ///   - identifier: the session's, the same at each launch, and another one for each queue.
  ///   - isDiscretionary: whether the system may wait for a good moment: for power and WLAN.
  ///   - answerLimit: of an answer's body, in bytes; a longer one is ``HTTPError/Code/bodyTooLarge``.
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
    let origin = try request.validated()
    guard let url = URL(string: request.url) else {
      throw HTTPError(.invalidURL, origin: origin, "the system can't read it")
    }
    let path = file.path(percentEncoded: false)
    guard FileManager.default.isReadableFile(atPath: path) else {
      throw HTTPError(.fileMissing, origin: origin, "there is none to upload, or it can't be read")
    }
    guard await !ids().contains(id) else { return }
    let task = session.uploadTask(with: request.foundation(url), fromFile: file)
    task.taskDescription = id
    task.resume()
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
    for await (id, answer) in events.answers() { await take(id, answer) }
  }

  /// For what the app's delegate is given by
  /// `application(_:handleEventsForBackgroundURLSession:completionHandler:)`.
  ///
  /// - Parameter completion: is called on the main queue when the system has told all answers and they are
  ///   stored. After it the system may suspend the app.
  public func finishEvents(_ completion: @escaping @Sendable () -> Void) {
    events.finish(completion)
  }

  private func tasks() async -> [URLSessionTask] {
    await withCheckedContinuation { continuation in
      session.getAllTasks { continuation.resume(returning: $0) }
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
    var completion: (@Sendable () -> Void)?

    mutating func takeCompletion() -> (@Sendable () -> Void)? {
      guard isToldAll, answers.isEmpty, let completion else { return nil }
      (self.completion, isToldAll) = (nil, false)
      return completion
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
        return state.takeCompletion()
      })
  }

  func finish(_ completion: @escaping @Sendable () -> Void) {
    call(
      state.withLock { state in
        state.completion = completion
        return state.takeCompletion()
      })
  }

  private func call(_ completion: (@Sendable () -> Void)?) {
    if let completion { DispatchQueue.main.async(execute: completion) }
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
    if body.count > answerLimit {
      return .failure(
        HTTPError(.bodyTooLarge, origin: asked, "over the limit of \(answerLimit) bytes"))
    }
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
    return .response(status: head.status, headers: head.headers, body: body)
  }

  #if canImport(Darwin)
  func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
    call(
      state.withLock { state in
        state.isToldAll = true
        return state.takeCompletion()
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
