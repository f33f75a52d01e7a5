import Synchronization

/// A body that arrives in chunks, at the pace of its reader.
///
/// It is read once, by one task at a time; a second iterator goes on where the first one stopped.
/// When a task is cancelled before or while it waits for a chunk the exchange ends. When the last
/// copy of a body is released, so does its exchange.
public struct HTTPBody: AsyncSequence, Sendable {
  public typealias Element = [UInt8]
  public typealias Failure = any Error

  private let pull: @Sendable () async throws -> [UInt8]?

  /// A body whose chunks come from `pull`, until that gives `nil`.
  public init(pulling pull: @escaping @Sendable () async throws -> [UInt8]?) {
    self.pull = pull
  }

  /// A body that is all here.
  public init(_ bytes: [UInt8] = []) {
    let rest = Once(bytes)
    self.init { rest.take() }
  }

  public struct Iterator: AsyncIteratorProtocol, Sendable {
    fileprivate let pull: @Sendable () async throws -> [UInt8]?

    /// - Throws: ``HTTPError``, `CancellationError`.
    public mutating func next() async throws -> [UInt8]? {
      try await pull()
    }
  }

  public func makeAsyncIterator() -> Iterator {
    Iterator(pull: pull)
  }

  /// Everything that is left, when it is no longer than `limit` bytes.
  ///
  /// - Throws: ``HTTPError``, with ``HTTPError/Code/bodyTooLarge`` as soon as there is more;
  ///   `CancellationError`.
  public func collect(limit: Int) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    for try await chunk in self {
      guard chunk.count <= limit - bytes.count else {
        throw HTTPError(.bodyTooLarge, origin: nil, "over the limit of \(limit) bytes")
      }
      if bytes.isEmpty { bytes = chunk } else { bytes += chunk }
    }
    return bytes
  }
}

private final class Once: Sendable {
  private let bytes: Mutex<[UInt8]>

  init(_ bytes: [UInt8]) {
    self.bytes = Mutex(bytes)
  }

  func take() -> [UInt8]? {
    bytes.withLock { bytes in
      defer { bytes = [] }
      return bytes.isEmpty ? nil : bytes
    }
  }
}
