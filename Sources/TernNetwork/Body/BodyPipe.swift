import Synchronization

/// Hands a body from a transport's thread to the task that reads it.
package final class BodyPipe: Sendable {
  private typealias Reader = CheckedContinuation<[UInt8]?, any Error>
  private let buffer: Mutex<BodyBuffer<Reader>>

  package init(limitBytes: Int) {
    buffer = Mutex(BodyBuffer(limitBytes: limitBytes))
  }

  package func write(_ chunk: UnsafeRawBufferPointer) -> BodyBuffer<Never>.Acceptance {
    // An empty chunk would look like an answer to a reader who waits for bytes.
    if chunk.isEmpty { return .taken }
    let (acceptance, reader) = buffer.withLock { $0.write(chunk) }
    reader?.resume(returning: Array(chunk))
    return switch acceptance {
    case .taken: .taken
    case .full: .full
    case .unwanted: .unwanted
    }
  }

  /// The next chunk, `nil` at the end. `resume` is called when a writer was refused for lack of
  /// room that there is now.
  package func read(resume: () -> Void) async throws -> [UInt8]? {
    switch buffer.withLock({ $0.read(as: nil) }) {
    case .chunk(let bytes, let resumes):
      if resumes { resume() }
      return bytes
    case .end: return nil
    case .failure(let error): throw error
    case .inUse: throw Self.inUse
    case .wait: return try await waitForBytes(resume: resume)
    }
  }

  private func waitForBytes(resume: () -> Void) async throws -> [UInt8]? {
    try await withCheckedThrowingContinuation { (reader: Reader) in
      // Bytes may have come since the first look, which took no place in the queue.
      switch buffer.withLock({ $0.read(as: reader) }) {
      case .wait: break
      case .chunk(let bytes, let resumes):
        if resumes { resume() }
        reader.resume(returning: bytes)
      case .end: reader.resume(returning: nil)
      case .failure(let error): reader.resume(throwing: error)
      case .inUse: reader.resume(throwing: Self.inUse)
      }
    }
  }

  package func end(_ failure: (any Error)?) {
    let reader = buffer.withLock { $0.end(failure) }
    if let failure { reader?.resume(throwing: failure) } else { reader?.resume(returning: nil) }
  }

  package func abandon(_ failure: any Error) {
    buffer.withLock { $0.abandon(failure) }?.resume(throwing: failure)
  }

  private static let inUse = HTTPError(.bodyInUse, origin: nil, "one task at a time can read it")
}
