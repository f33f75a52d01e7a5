/// What has arrived of a body and was not read yet, as a state machine without locks or waiting.
///
/// `Reader` is whatever the driver resumes: a continuation, or a name in a test.
package struct BodyBuffer<Reader: Sendable>: Sendable {
  private enum State {
    /// More can come. A reader waits only while nothing is buffered.
    case open(Reader?)
    /// Nothing more comes; the bytes that are buffered can still be read, then the failure.
    case ended((any Error)?)
    /// Nobody will read; bytes are refused.
    case abandoned(any Error)
  }

  package enum Acceptance: Hashable, Sendable {
    case taken
    /// Nothing was taken: offer the same bytes again when a read says so.
    case full
    /// Nobody reads this any more: stop.
    case unwanted
  }

  package enum Reading: Sendable {
    /// `resumes`: the writer was told that the buffer is full and has to be woken.
    case chunk([UInt8], resumes: Bool)
    case end
    case failure(any Error)
    case wait
    /// Another reader waits already.
    case inUse
  }

  private var state = State.open(nil)
  private var bytes: [UInt8] = []
  private var isWriterWaiting = false
  /// A chunk is refused while this many bytes are buffered, so that at most one chunk more is.
  private let limitBytes: Int

  package init(limitBytes: Int) {
    precondition(limitBytes > 0, "a buffer without room would never let a writer go on")
    self.limitBytes = limitBytes
  }

  /// Bytes from the wire, and the reader to whom they are to be given instead of the buffer.
  package mutating func write(_ chunk: UnsafeRawBufferPointer) -> (Acceptance, Reader?) {
    switch state {
    case .ended, .abandoned:
      return (.unwanted, nil)
    case .open(let reader?):
      state = .open(nil)
      return (.taken, reader)
    case .open(nil):
      guard bytes.count < limitBytes else {
        isWriterWaiting = true
        return (.full, nil)
      }
      bytes.append(contentsOf: chunk)
      return (.taken, nil)
    }
  }

  /// The next bytes. After ``Reading/wait`` the caller waits as `reader`, if it gave one.
  package mutating func read(as reader: Reader?) -> Reading {
    if !bytes.isEmpty { return takeBytes() }
    switch state {
    case .ended(let failure?), .abandoned(let failure): return .failure(failure)
    case .ended(nil): return .end
    case .open(_?): return .inUse
    case .open(nil):
      state = .open(reader)
      return .wait
    }
  }

  private mutating func takeBytes() -> Reading {
    defer {
      bytes = []
      isWriterWaiting = false
    }
    return .chunk(bytes, resumes: isWriterWaiting)
  }

  /// The exchange is over; gives the reader who has to be told. Only the first call counts.
  package mutating func end(_ failure: (any Error)?) -> Reader? {
    guard case .open(let reader) = state else { return nil }
    state = .ended(failure)
    return reader
  }

  /// Nobody wants the rest; gives the reader who has to be told. What is buffered is dropped.
  package mutating func abandon(_ failure: any Error) -> Reader? {
    if case .abandoned = state { return nil }
    var waiting: Reader?
    if case .open(let reader) = state { waiting = reader }
    state = .abandoned(failure)
    bytes = []
    return waiting
  }
}
