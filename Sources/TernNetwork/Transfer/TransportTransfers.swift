import Foundation
import Synchronization

/// Uploads that a transport of this process carries, so that code for background uploads runs
/// anywhere. What had no answer when its run ended, or its process, is lost here, and its queue
/// begins it again.
///
/// A request whose ``HTTPRequest/idleTimeout`` is `nil` has one of five minutes: a few services
/// that say nothing would hold up all other uploads.
public final class TransportTransfers: BackgroundTransfers {
  private struct Transfer {
    let request: HTTPRequest
    var answer: TransferAnswer?
    /// Ends when nobody wants it any more; `nil` until it is sent.
    var end: AsyncStream<Never>.Continuation?
  }

  private struct State {
    /// In the order in which they came.
    var order: [String] = []
    var transfers: [String: Transfer] = [:]
    var sending = 0
    var news: AsyncStream<Void>.Continuation?
  }

  private let state = Mutex(State())
  private let transport: any HTTPTransport
  private let concurrency: Int
  private let answerLimit: Int
  private static let silence = Duration.seconds(300)

  public var endsWithProcess: Bool { true }

  /// - Parameters:
  ///   - concurrency: how many are sent at the same time.
  ///   - answerLimit: of an answer's body, in bytes; a longer one is
  ///     ``HTTPError/Code/bodyTooLarge``, and left out where the status is none of 200 to 299.
  public init(
    over transport: any HTTPTransport = SystemTransport.shared, concurrency: Int = 4,
    answerLimit: Int = 256 << 10
  ) {
    precondition(concurrency > 0, "at least one upload is sent at a time")
    (self.transport, self.concurrency) = (transport, concurrency)
    self.answerLimit = answerLimit
  }

  public func begin(_ id: String, _ request: HTTPRequest, file: URL) throws {
    if state.withLock({ $0.transfers[id] != nil }) { return }
    var request = try request.uploading(file)
    request.idleTimeout = request.idleTimeout ?? Self.silence
    state.withLock { [request] state in
      guard state.transfers[id] == nil else { return }
      state.order.append(id)
      state.transfers[id] = Transfer(request: request)
      state.news?.yield()
    }
  }

  public func ids() -> Set<String> { state.withLock { Set($0.order) } }

  public func forget(_ id: String) {
    state.withLock { state in
      state.order.removeAll { $0 == id }
      state.transfers.removeValue(forKey: id)?.end?.finish()
    }
  }

  public func run(
    _ take: @escaping @Sendable (_ id: String, TransferAnswer) async -> Void
  ) async {
    let (stream, news) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let answered = state.withLock { state in
      state.news = news
      return state.order.compactMap { id in state.transfers[id]?.answer.map { (id, $0) } }
    }
    news.yield()
    await withDiscardingTaskGroup { group in
      for (id, answer) in answered { group.addTask { await take(id, answer) } }
      for await _ in stream {
        while let next = next() { group.addTask { await self.carry(next, take) } }
      }
      group.cancelAll()
    }
    // What was cancelled with the run is not sent by the next.
    state.withLock { state in
      state.news = nil
      for id in state.order where state.transfers[id]?.answer == nil {
        state.transfers[id] = nil
      }
      state.order.removeAll { [transfers = state.transfers] in transfers[$0] == nil }
    }
  }

  private struct Next {
    let id: String
    let request: HTTPRequest
    let end: AsyncStream<Never>
  }

  private func next() -> Next? {
    state.withLock { state in
      guard state.sending < concurrency,
        let id = state.order.first(where: {
          state.transfers[$0]?.answer == nil && state.transfers[$0]?.end == nil
        }), let request = state.transfers[id]?.request
      else { return nil }
      let (stream, end) = AsyncStream.makeStream(of: Never.self)
      state.transfers[id]?.end = end
      state.sending += 1
      return Next(id: id, request: request, end: stream)
    }
  }

  private func carry(
    _ next: Next, _ take: @Sendable (_ id: String, TransferAnswer) async -> Void
  ) async {
    let answer = await withTaskGroup(of: TransferAnswer?.self) { group in
      group.addTask { await self.answer(to: next.request) }
      group.addTask {
        for await _ in next.end {}
        return nil
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
    let isWanted = state.withLock { state in
      state.sending -= 1
      state.news?.yield()
      state.transfers[next.id]?.answer = answer
      return state.transfers[next.id] != nil
    }
    if let answer, isWanted { await take(next.id, answer) }
  }

  /// - Returns: `nil` where the task is cancelled.
  private func answer(to request: HTTPRequest) async -> TransferAnswer? {
    do {
      let response = try await transport.send(request)
      var body: [UInt8] = []
      do {
        body = try await response.collect(limit: answerLimit)
      } catch let error as HTTPError
        where error.code == .bodyTooLarge && !TransferAnswer.isWanted(response.status)
      {
        // The status says more than that its reason is too long.
      }
      return .response(status: response.status, headers: response.headers, body: body)
    } catch let error as HTTPError {
      return .failure(error)
    } catch {
      // A transport throws nothing else but what says that the task is cancelled.
      return Task.isCancelled
        ? nil : .failure(HTTPError(.connectionLost, origin: nil, "\(type(of: error))"))
    }
  }
}

extension HTTPRequest {
  /// With a file for a body.
  ///
  /// - Throws: ``HTTPError`` where it can't be sent as it stands.
  package func uploading(_ file: URL) throws(HTTPError) -> HTTPRequest {
    var request = self
    request.body = .segments([.file(FileSegment(file.path(percentEncoded: false)))])
    _ = try request.validated()
    return request
  }
}
