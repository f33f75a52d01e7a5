import Foundation

/// What carries on uploads of files, beyond the request's own task and as far as it can beyond the
/// process: the system on Apple platforms (``URLSessionTransfers``), or a transport in this process
/// (``TransportTransfers``).
///
/// It may lose any of them, tell an answer twice, and have some that nobody knows of: who hands
/// over keeps in a database what is to be sent, as `JobContext.upload` does, and takes what is said
/// here for a hint. An instance belongs to one queue: what that does not want is cancelled.
public protocol BackgroundTransfers: Sendable {
  /// Whether all of it ends with this process, for which who drains a queue waits.
  var endsWithProcess: Bool { get }

  /// Begins an upload, or does nothing where it has one by that id, whatever became of the file.
  ///
  /// - Parameters:
  ///   - id: what it is known by in every life of the process.
  ///   - request: without a body.
  ///   - file: is the body. It stays as it is until the upload is forgotten.
  /// - Throws: ``HTTPError`` where it can't be sent as it stands.
  func begin(_ id: String, _ request: HTTPRequest, file: URL) async throws

  /// Those that go on, and those with an answer, until they are forgotten.
  func ids() async -> Set<String>

  /// Cancels an upload that goes on, and drops an answer.
  func forget(_ id: String) async

  /// Tells every answer that is not forgotten, those from before included, until the
  /// task is cancelled.
  ///
  /// - Parameter take: returns when the answer is stored, or can't be, which can take long: no
  ///   other answer waits for it. What is stored is forgotten by call.
  func run(_ take: @escaping @Sendable (_ id: String, TransferAnswer) async -> Void) async
}

/// What an upload came to.
public enum TransferAnswer: Hashable, Sendable {
  /// Any status, with the whole body.
  case response(status: Int, headers: HTTPHeaders, body: [UInt8])
  case failure(HTTPError)

  /// Whether a status says that the upload did what it was for.
  package static func isWanted(_ status: Int) -> Bool { 200..<300 ~= status }
}
