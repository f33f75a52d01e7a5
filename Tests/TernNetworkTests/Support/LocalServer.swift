import Foundation
import Synchronization

/// A server on 127.0.0.1 that does on each connection what a closure says, misbehaviour included.
///
/// Every connection has a thread of its own, so that the closure may block.
final class LocalServer: Sendable {
  let port: Int
  private let listener: Int32
  private let sockets = Mutex<[Int32]>([])

  var url: String { "http://127.0.0.1:\(port)" }
  var connectionCount: Int { sockets.withLock { $0.count } }

  /// - Parameter isNarrow: whether the system holds little of what comes, so that a client soon sees how slowly
  ///   it is read.
  init(isNarrow: Bool = false, _ serve: @escaping @Sendable (Connection) -> Void) throws {
    (listener, port) = try Self.listen(isNarrow: isNarrow)
    let thread = Thread { [self] in
      while case let socket = accept(listener, nil, nil), socket >= 0 {
        sockets.withLock { $0.append(socket) }
        let thread = Thread {
          serve(Connection(socket))
          shutdown(socket, Int32(SHUT_RDWR))
        }
        thread.start()
      }
    }
    thread.start()
  }

  /// Answers every request with its own body.
  static func echo() throws -> LocalServer {
    try LocalServer { connection in
      while let request = connection.readRequest() { connection.answer(body: request.body) }
    }
  }

  /// Answers one request with a head and five bytes of ten.
  ///
  /// - Parameter end: called when the client has closed.
  static func half(_ end: @escaping @Sendable () -> Void = {}) throws -> LocalServer {
    try LocalServer { connection in
      _ = connection.readRequest()
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
      connection.waitForEnd()
      end()
    }
  }

  /// Ends the threads; descriptors are closed when the test process ends.
  func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    for socket in sockets.withLock({ $0 }) { shutdown(socket, Int32(SHUT_RDWR)) }
  }

  /// A port on which nothing listens.
  static func closedPort() throws -> Int {
    let (listener, port) = try listen()
    close(listener)
    return port
  }

  /// - Parameter backlog: how many connections may wait to be taken, besides one.
  static func listen(isNarrow: Bool = false, backlog: Int32 = 512) throws -> (Int32, Int) {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    if isNarrow {
      // Connections take it from the listener.
      var byteCount: Int32 = 4096
      setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &byteCount, 4)
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isReady = withUnsafeMutableBytes(of: &address) { bytes in
      let pointer = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
      return bind(listener, pointer, length) == 0 && Glibc.listen(listener, backlog) == 0
        && getsockname(listener, pointer, &length) == 0
    }
    guard isReady else { throw POSIXError(.EADDRINUSE) }
    return (listener, Int(UInt16(bigEndian: address.sin_port)))
  }
}

/// One connection as a test's server sees it.
struct Connection: Sendable {
  private let socket: Int32

  init(_ socket: Int32) {
    self.socket = socket
  }

  struct Request {
    var line: String
    var headers: [String: String]
    var body: [UInt8]

    /// As the client announced it.
    var byteCount: Int { headers["content-length"].flatMap { Int($0) } ?? 0 }
  }

  /// The next request with its whole body, `nil` when the client has closed.
  func readRequest() -> Request? {
    guard var request = readHead(), let body = read(request.byteCount) else { return nil }
    request.body = body
    return request
  }

  /// The next request without its body.
  func readHead() -> Request? {
    guard let line = readLine(), !line.isEmpty else { return nil }
    var request = Request(line: line, headers: [:], body: [])
    while let field = readLine(), !field.isEmpty {
      let parts = field.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      request.headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
    }
    return request
  }

  private func readLine() -> String? {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while recv(socket, &byte, 1, 0) == 1 {
      if byte == 0x0A { return String(decoding: bytes, as: UTF8.self) }
      if byte != 0x0D { bytes.append(byte) }
    }
    return nil
  }

  func read(_ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let got = bytes.withUnsafeMutableBytes { all in
        recv(socket, all.baseAddress! + filled, count - filled, 0)
      }
      guard got > 0 else { return nil }
      filled += got
    }
    return bytes
  }

  /// Gives what comes in pieces of up to 256 KiB, until there are `count` bytes or no more.
  ///
  /// - Returns: How many bytes came.
  func read(upTo count: Int, _ take: (UnsafeRawBufferPointer) -> Void) -> Int {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
    defer { buffer.deallocate() }
    var total = 0
    while total < count {
      let got = recv(socket, buffer.baseAddress, min(buffer.count, count - total), 0)
      guard got > 0 else { return total }
      take(UnsafeRawBufferPointer(rebasing: buffer[..<got]))
      total += got
    }
    return total
  }

  /// Has the system hold little of what the client sends from now on, whose socket is this process' own.
  func narrowClient() {
    guard let port = Self.port(of: socket, getsockname) else { return }
    for client in Int32(3)..<4096 where Self.port(of: client, getpeername) == port {
      var byteCount: Int32 = 8192
      setsockopt(client, SOL_SOCKET, SO_SNDBUF, &byteCount, 4)
    }
  }

  private static func port(
    of socket: Int32,
    _ name: (Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> Int32
  ) -> UInt16? {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutableBytes(of: &address) { bytes in
      name(socket, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), &length)
    }
    return result == 0 && address.sin_family == sa_family_t(AF_INET) ? address.sin_port : nil
  }

  /// Waits until the client closes, which is how it sees a cancellation.
  func waitForEnd() {
    var byte: UInt8 = 0
    while recv(socket, &byte, 1, 0) > 0 {}
  }

  /// Waits until the client closes, or sends, but no longer than some milliseconds.
  /// real time: the client's timeouts are the system's.
  func isClosed(within milliseconds: CInt) -> Bool {
    var watched = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    return poll(&watched, 1, milliseconds) > 0
  }

  /// - Returns: Whether everything was taken.
  @discardableResult
  func write(_ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes { all in
        send(socket, all.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  /// Writes until all is written, or until the system takes nothing more for some milliseconds because the
  /// client doesn't read. The system holds little of it.
  /// real time: it tells of room, and not that there is none.
  ///
  /// - Returns: How many bytes it took.
  func write(_ bytes: [UInt8], untilHeldFor milliseconds: CInt) -> Int {
    var byteCount: Int32 = 256 << 10
    setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &byteCount, 4)
    var watched = pollfd(fd: socket, events: Int16(POLLOUT), revents: 0)
    var sent = 0
    while sent < bytes.count, poll(&watched, 1, milliseconds) > 0 {
      let count = bytes.withUnsafeBytes { all in
        send(
          socket, all.baseAddress! + sent, min(bytes.count - sent, 64 << 10),
          Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
      }
      guard count > 0 else { break }
      sent += count
    }
    return sent
  }

  @discardableResult
  func write(_ text: String) -> Bool { write(Array(text.utf8)) }

  @discardableResult
  func answer(_ status: Int = 200, _ fields: String = "", body: [UInt8] = []) -> Bool {
    let head = "HTTP/1.1 \(status) Said\r\n\(fields)Content-Length: \(body.count)\r\n\r\n"
    // In one piece, or Nagle's algorithm would hold the second one back.
    return write(Array(head.utf8) + body)
  }
}
