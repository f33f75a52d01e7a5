#if canImport(Darwin) || Rehearsal
import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What a session reports of uploads, kept until it is stored elsewhere.
final class URLSessionTransferEvents: NSObject, URLSessionDataDelegate, Sendable {
  private struct State {
    var bodies: [Int: [UInt8]] = [:]
    /// The tasks for which no connection came about.
    var unanswered: Set<Int> = []
    var reports = TransferReports<@MainActor () -> Void>()
    var listener: AsyncStream<(String, TransferAnswer)>.Continuation?
  }

  private let state = Mutex(State())
  private let answerLimit: Int

  /// - Parameter answerLimit: in bytes, not negative.
  init(answerLimit: Int) {
    self.answerLimit = answerLimit
  }

  var answered: Set<String> { state.withLock { Set($0.reports.answers.map(\.id)) } }

  /// Those from before, and those that come.
  func answers() -> AsyncStream<(String, TransferAnswer)> {
    let (stream, listener) = AsyncStream.makeStream(of: (String, TransferAnswer).self)
    state.withLock { state in
      state.listener = listener
      for (id, answer) in state.reports.answers { listener.yield((id, answer)) }
    }
    return stream
  }

  func forget(_ id: String, cancelling tasks: [Int]) {
    call(state.withLock { $0.reports.forget(id, cancelling: tasks) })
  }

  func finish(_ completion: @escaping @MainActor () -> Void) {
    call(state.withLock { $0.reports.finish(completion) })
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
      let left = answerLimit - state.bodies[dataTask.taskIdentifier, default: []].count
      let isTooLong = data.count > left
      // One byte over the limit says that it is over.
      state.bodies[dataTask.taskIdentifier, default: []]
        .append(contentsOf: data.prefix(isTooLong ? left + 1 : data.count))
      return isTooLong
    }
    if isTooLong { dataTask.cancel() }
  }

  /// Comes before the end on Apple platforms (not verified), and never on Linux.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
  ) {
    guard URLSessionEvents.isUnanswered(metrics) else { return }
    state.withLock { _ = $0.unanswered.insert(task.taskIdentifier) }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {
    let (body, isUnanswered) = state.withLock { state in
      let body = state.bodies.removeValue(forKey: task.taskIdentifier)
      return (body ?? [], state.unanswered.remove(task.taskIdentifier) != nil)
    }
    guard let id = task.taskDescription else { return }
    let outcome = URLSessionOutcome(
      original: task.originalRequest, current: task.currentRequest, response: task.response,
      body: body, error: error, isUnanswered: isUnanswered)
    let answer = outcome.answer(limit: answerLimit)
    state.withLock { state in
      guard state.reports.add(id, answer, of: task.taskIdentifier) else { return }
      state.listener?.yield((id, answer))
    }
  }

  /// Of a background session alone.
  func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
    call(state.withLock { $0.reports.noteAllTold() })
  }

  #if !canImport(Darwin)
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
