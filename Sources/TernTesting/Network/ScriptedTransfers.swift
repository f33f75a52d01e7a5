import Foundation
import Synchronization
import TernNetwork

/// Uploads as a test wants them, over all lives of a queue: answered by a closure or by the test,
/// twice, or lost.
///
/// ```swift
/// let transfers = ScriptedTransfers { upload in
///   .response(status: 200, headers: [:], body: Array("[]".utf8))
/// }
/// harness.start(jobs, transfers: transfers) { $0.handle(SendPhoto.self, photos.send) }
/// ```
public final class ScriptedTransfers: BackgroundTransfers {
  /// What was handed over.
  public struct Upload: Sendable {
    public let id: String
    public let request: HTTPRequest
    /// The file, as it was then.
    public let content: Data
  }

  private struct State {
    var begun: [Upload] = []
    /// Those that are not forgotten.
    var held: [Upload] = []
    /// In the order in which they came; some of them twice.
    var answers: [(id: String, answer: TransferAnswer)] = []
    var listener: AsyncStream<(String, TransferAnswer)>.Continuation?
  }

  private let state = Mutex(State())
  private let respond: @Sendable (Upload) -> TransferAnswer?

  public var endsWithProcess: Bool { false }

  /// - Parameter respond: what the server answers to each upload that is begun, at once; by default
  ///   nothing before ``answer(_:with:)``.
  public init(_ respond: @escaping @Sendable (Upload) -> TransferAnswer? = { _ in nil }) {
    self.respond = respond
  }

  // MARK: - For the test

  /// All that was ever begun, in order: again, where it was lost.
  public var begun: [Upload] { state.withLock { $0.begun } }

  /// Those that are not forgotten.
  public var held: [Upload] { state.withLock { $0.held } }

  /// Answers an upload, also one that was answered, lost or forgotten before.
  public func answer(_ id: String, with answer: TransferAnswer) {
    state.withLock { state in
      state.answers.append((id, answer))
      state.listener?.yield((id, answer))
    }
  }

  /// Loses an upload, with its answer.
  public func lose(_ id: String) { drop(id) }

  /// Has an upload that no queue has handed over.
  public func add(_ id: String, _ request: HTTPRequest) {
    state.withLock { $0.held.append(Upload(id: id, request: request, content: Data())) }
  }

  // MARK: - For the queue

  public func begin(_ id: String, _ request: HTTPRequest, file: URL) throws {
    if ids().contains(id) { return }
    let path = file.path(percentEncoded: false)
    guard let content = FileManager.default.contents(atPath: path) else {
      throw HTTPError(.fileMissing, origin: nil, "there is none at \(file.lastPathComponent)")
    }
    let upload = Upload(id: id, request: try request.uploading(file), content: content)
    let isNew = state.withLock { state in
      guard !state.held.contains(where: { $0.id == id }) else { return false }
      state.begun.append(upload)
      state.held.append(upload)
      return true
    }
    if isNew, let answer = respond(upload) { self.answer(id, with: answer) }
  }

  public func ids() -> Set<String> {
    state.withLock { Set($0.held.map(\.id) + $0.answers.map(\.id)) }
  }

  public func forget(_ id: String) { drop(id) }

  public func run(
    _ take: @escaping @Sendable (_ id: String, TransferAnswer) async -> Void
  ) async {
    let (stream, listener) = AsyncStream.makeStream(of: (String, TransferAnswer).self)
    state.withLock { state in
      state.listener = listener
      for (id, answer) in state.answers { listener.yield((id, answer)) }
    }
    await withDiscardingTaskGroup { group in
      for await (id, answer) in stream { group.addTask { await take(id, answer) } }
    }
  }

  private func drop(_ id: String) {
    state.withLock { state in
      state.held.removeAll { $0.id == id }
      state.answers.removeAll { $0.id == id }
    }
  }
}
