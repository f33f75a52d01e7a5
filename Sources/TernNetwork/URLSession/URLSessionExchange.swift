#if canImport(Darwin) || Rehearsal
import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One exchange of a ``URLSessionTransport``.
final class URLSessionExchange: Sendable {
  let origin: HTTPOrigin
  let head = HeadPromise()
  let pipe: BodyPipe
  /// Kept until nobody holds the exchange, which is after the system has read it.
  let upload: URLSessionUpload?

  private struct Flow {
    var task: URLSessionDataTask?
    var deadline: DispatchWorkItem?
    /// What came after the buffer was full. While there is some the task is suspended, where that
    /// only halts it.
    var held: [Data] = []
    /// The end, when it came while there was something held before it.
    var end: Result<Void, HTTPError>?
  }
  private let flow = Mutex(Flow())

  init(origin: HTTPOrigin, bodyBufferBytes: Int, upload: URLSessionUpload?) {
    self.origin = origin
    self.upload = upload
    pipe = BodyPipe(limitBytes: bodyBufferBytes)
  }

  func begin(_ task: URLSessionDataTask, timeout: Duration?) {
    flow.withLock { flow in
      flow.task = task
      guard let timeout else { return }
      let error = HTTPError(.timedOut, origin: origin, "not done within \(timeout)")
      let work = DispatchWorkItem { [weak self] in self?.abandon(error) }
      flow.deadline = work
      DispatchQueue.global().asyncAfter(deadline: .now() + timeout / .seconds(1), execute: work)
    }
  }

  /// Tells those who wait and stops the transfer. No effect on one that is over.
  func abandon(_ error: any Error) {
    head.fulfil(.failure(error))
    pipe.abandon(error)
    flow.withLock { flow in
      flow.deadline?.cancel()
      flow.task?.cancel()
      flow.held = []
    }
  }

  /// A second head means that the system has sent the request again, which for a suspended data
  /// task its documentation allows. What follows would be appended to the first answer's bytes.
  func receive(_ answer: ResponseHead) {
    guard !head.fulfil(.success(answer)) else { return }
    abandon(HTTPError(.connectionLost, origin: origin, "the system began the answer anew"))
  }

  func receive(_ data: Data) {
    flow.withLock { flow in
      guard flow.held.isEmpty, write(data) else {
        flow.held.append(data)
        if flow.held.count == 1, Self.canPause { flow.task?.suspend() }
        return
      }
    }
  }

  /// The reader has made room.
  func readOn() {
    flow.withLock { flow in
      guard !flow.held.isEmpty else { return }
      let left = flow.held.firstIndex { !write($0) }
      // All at once: there can be thousands where nothing pauses.
      flow.held.removeFirst(left ?? flow.held.count)
      guard flow.held.isEmpty else { return }
      if Self.canPause { flow.task?.resume() }
      if let end = flow.end { pipe.end(end.error) }
    }
  }

  func end(_ error: HTTPError?) {
    if let error { head.fulfil(.failure(error)) }
    flow.withLock { flow in
      flow.deadline?.cancel()
      if flow.held.isEmpty {
        pipe.end(error)
      } else {
        // The system can end a suspended task; what is held comes first.
        flow.end = error.map { .failure($0) } ?? .success(())
      }
    }
  }

  /// Linux' URLSession takes a suspended task off its connection and makes the whole request a
  /// second time when it is resumed, with what an upload's file has left: nothing. It reads ahead
  /// however slow the reader is, so that there is nothing to be gained either.
  private static var canPause: Bool {
    #if canImport(Darwin)
    true
    #else
    false
    #endif
  }

  private func write(_ data: Data) -> Bool {
    data.withUnsafeBytes { pipe.write($0) } != .full
  }
}

extension Result where Success == Void {
  fileprivate var error: Failure? {
    if case .failure(let error) = self { error } else { nil }
  }
}
#endif
