#if os(Linux)
import CCurl
import TernTesting

@testable import TernNetwork

/// One exchange of a ``CurlWorld``: a request's task, and what libcurl would tell of its answer.
///
/// `@unchecked Sendable`: only the seeded executor's one thread touches it.
final class CurlExchange: @unchecked Sendable {
  enum End: Hashable {
    case well
    case failed(HTTPError.Code)
    case cancelled
  }

  let transfer: CurlTransfer
  /// Of which the byte at a position is that position.
  let body: [UInt8]
  private var lines = [
    "HTTP/1.1 103 Early Hints\r\n", "\r\n", "HTTP/1.1 200 OK\r\n", "Server: none\r\n", "\r\n",
  ]
  static let longestChunk = 5
  private let limitBytes: Int
  /// Whether libcurl was told to wait until the reader has made room.
  var isPaused = false
  /// How many bytes of the body libcurl got rid of.
  private(set) var position = 0
  /// What libcurl said at last.
  private(set) var said: CURLcode?

  private(set) var isBegun = false
  private var task: Task<Void, Never>?
  private(set) var wasCancelled = false
  private(set) var head: Int?
  private(set) var got: [UInt8] = []
  private(set) var ends: [End] = []

  init(bodyCount: Int, limitBytes: Int) throws {
    body = (0..<bodyCount).map { UInt8($0) }
    self.limitBytes = limitBytes
    var configuration = CurlTransport.Configuration()
    configuration.bodyBufferBytes = limitBytes
    // Nobody goes there.
    let request = HTTPRequest(.get, "http://127.0.0.1:1/", idleTimeout: .seconds(3600))
    transfer = try CurlTransfer(
      request, origin: request.validated(), configuration: configuration)
  }

  var isOver: Bool { !ends.isEmpty }

  // MARK: - The request's side

  /// As a transport does it, with pauses between the chunks.
  func begin(_ driver: CurlDriver, on executor: SeededExecutor, pauses: Int) {
    isBegun = true
    task = Task(executorPreference: executor) { [self] in
      do {
        head = try await driver.head(of: transfer).status
        while let chunk = try await driver.next(of: transfer) {
          got += chunk
          for _ in 0..<pauses { await Task.yield() }
        }
        ends.append(.well)
      } catch let error as HTTPError {
        ends.append(.failed(error.code))
      } catch {
        ends.append(.cancelled)
      }
      driver.cancel(transfer)
    }
  }

  /// The task is cancelled on another thread just as it begins.
  func beginTooLate(_ driver: CurlDriver) {
    (isBegun, wasCancelled) = (true, true)
    ends.append(.cancelled)
    driver.cancel(transfer)
    driver.submit(.start(transfer))
  }

  func cancel() {
    if !isOver { wasCancelled = true }
    task?.cancel()
  }

  // MARK: - libcurl's side

  /// The next that libcurl has to tell.
  func tellNext(_ loop: inout CurlLoop, _ generator: inout SeededGenerator) throws {
    guard transfer.easy != nil else { return }
    if generator.oneIn(60) { return say(CURLE_RECV_ERROR, &loop) }
    if isPaused { return }
    if !lines.isEmpty {
      let line = Array(lines.removeFirst().utf8)
      let count = line.withUnsafeBytes { transfer.receiveHeader($0) }
      try OrderViolation.require(count == line.count, "a line of the head was refused")
    } else if position < body.count {
      let end = position + Int.random(in: 1...Self.longestChunk, using: &generator)
      try write(Array(body[position..<min(end, body.count)]), &loop)
    } else {
      say(CURLE_OK, &loop)
    }
    try check()
  }

  private func write(_ chunk: [UInt8], _ loop: inout CurlLoop) throws {
    switch chunk.withUnsafeBytes({ transfer.receiveBody($0) }) {
    case chunk.count: position += chunk.count
    case tern_curl_write_pause(): isPaused = true
    case let count:
      try OrderViolation.require(
        count == 0 && wasCancelled, "\(count) of \(chunk.count) bytes were taken")
      say(CURLE_WRITE_ERROR, &loop)
    }
  }

  private func say(_ code: CURLcode, _ loop: inout CurlLoop) {
    said = code
    loop.end(transfer, code)
  }

  // MARK: - What must hold

  /// At any time.
  func check() throws {
    try OrderViolation.require(got == Array(body.prefix(got.count)), "\(got) was read")
    // As much as is held at most can be on its way to the reader.
    try OrderViolation.require(
      position - got.count < 2 * (limitBytes + Self.longestChunk),
      "\(position - got.count) bytes are held")
    guard transfer.easy != nil else { return }
    try OrderViolation.require(
      (transfer.timeout == nil) == isPaused, "silence counts, and it is paused: \(isPaused)")
  }

  /// Every command was performed, and everybody who was woken has gone on.
  func checkAtRest() throws {
    try check()
    if isOver {
      try OrderViolation.require(transfer.easy == nil, "libcurl has what is over")
      return try checkEnd()
    }
    guard isBegun else { return }
    try OrderViolation.require(transfer.easy != nil, "somebody waits, and libcurl has nothing")
    try OrderViolation.require(!wasCancelled, "somebody waits who was cancelled")
    try OrderViolation.require(
      head != nil || !lines.isEmpty, "somebody waits for a head that is there")
    guard lines.isEmpty else { return }
    try OrderViolation.require(
      got.count == position && !isPaused,
      "somebody waits who has \(got.count) of \(position) bytes, paused: \(isPaused)")
  }

  private func checkEnd() throws {
    try OrderViolation.require(ends.count == 1, "it ended as \(ends)")
    switch ends[0] {
    case .well:
      try OrderViolation.require(said == CURLE_OK && got == body, "it ended well with \(got)")
    case .failed(.connectionLost):
      try OrderViolation.require(
        said == CURLE_RECV_ERROR && (head == nil || got.count == position),
        "it ended as lost with \(got) of \(position) bytes")
    case .failed(let code):
      try OrderViolation.require(
        code == .shutDown && said == nil && got.count == position, "it ended with \(code.reason)")
    case .cancelled: try OrderViolation.require(wasCancelled, "nobody cancelled it")
    }
    if head != nil { try OrderViolation.require(lines.isEmpty, "its head came early") }
  }
}
#endif
