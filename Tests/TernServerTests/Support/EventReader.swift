#if Server
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// An open event stream, read event by event.
struct EventReader {
  private let task: URLSessionDataTask
  private var chunks: AsyncThrowingStream<Data, any Error>.Iterator
  private var text = ""

  init(_ request: URLRequest) {
    let (stream, continuation) = AsyncThrowingStream.makeStream(of: Data.self)
    let session = URLSession(
      configuration: .default, delegate: Receiver(continuation), delegateQueue: nil)
    task = session.dataTask(with: request)
    chunks = stream.makeAsyncIterator()
    task.resume()
    session.finishTasksAndInvalidate()
  }

  /// The next event with its lines; `nil` at the stream's end. Signs of life come at any time.
  mutating func next() async throws -> String? {
    var next = try await nextOrComment()
    while next == ":" { next = try await nextOrComment() }
    return next
  }

  /// The next event, or the next comment.
  mutating func nextOrComment() async throws -> String? {
    while true {
      if let end = text.range(of: "\n\n") {
        defer { text.removeSubrange(..<end.upperBound) }
        return String(text[..<end.lowerBound])
      }
      guard let chunk = try await chunks.next() else { return nil }
      text += String(decoding: chunk, as: UTF8.self)
    }
  }

  var contentType: String? {
    (task.response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Content-Type")
  }

  func cancel() { task.cancel() }

  private final class Receiver: NSObject, URLSessionDataDelegate, Sendable {
    private let continuation: AsyncThrowingStream<Data, any Error>.Continuation

    init(_ continuation: AsyncThrowingStream<Data, any Error>.Continuation) {
      self.continuation = continuation
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      continuation.yield(data)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
      continuation.finish(throwing: error)
    }
  }
}
#endif
