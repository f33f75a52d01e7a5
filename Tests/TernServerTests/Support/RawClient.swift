#if Server
import Foundation

/// A client that sends exactly what it is told to, and reads when it is told to.
///
/// It blocks on a queue of its own.
final class RawClient: Sendable {
  private let descriptor: Int32
  private let queue = DispatchQueue(label: "raw client")

  /// What the system keeps for a client that doesn't read has left the server.
  private static let systemBytes: Int32 = 32 << 10

  convenience init(_ server: LiveServer) throws { try self.init(port: server.port) }

  init(port: Int) throws {
    #if os(Linux)
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
    descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    var bytes = Self.systemBytes
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw URLError(.cannotConnectToHost) }
  }

  deinit { close(descriptor) }

  /// Ends both directions.
  func end() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// From now on it only reads, as the other end sees.
  func endSending() { _ = shutdown(descriptor, Int32(SHUT_WR)) }

  @discardableResult
  func send(_ text: String) async -> Bool { await send(Array(text.utf8)) }

  /// Returns whether the connection was still there.
  @discardableResult
  func send(_ bytes: [UInt8]) async -> Bool {
    await onQueue { [descriptor] in
      var rest = bytes[...]
      while !rest.isEmpty {
        #if os(Linux)
        let flags = Int32(MSG_NOSIGNAL)
        #else
        let flags: Int32 = 0
        #endif
        let count = rest.withUnsafeBytes {
          Foundation.send(descriptor, $0.baseAddress, $0.count, flags)
        }
        guard count > 0 else { return false }
        rest = rest.dropFirst(count)
      }
      return true
    }
  }

  /// So many bytes, or fewer at the connection's end.
  func receive(_ count: Int) async -> [UInt8] {
    await onQueue { [descriptor] in
      var bytes = [UInt8](repeating: 0, count: count)
      var filled = 0
      while filled < count {
        let read = bytes[filled...].withUnsafeMutableBytes {
          recv(descriptor, $0.baseAddress, $0.count, 0)
        }
        guard read > 0 else { break }
        filled += read
      }
      return Array(bytes[..<filled])
    }
  }

  /// The head of the next answer.
  func head() async -> RawHead {
    var bytes: [UInt8] = []
    while bytes.suffix(4) != [13, 10, 13, 10] {
      let byte = await receive(1)
      guard !byte.isEmpty else { break }
      bytes += byte
    }
    return RawHead(text: String(decoding: bytes, as: UTF8.self))
  }

  /// All that comes until the connection's end, or until nothing has come for so long.
  func rest(within seconds: Int) async -> (bytes: [UInt8], isClosed: Bool) {
    await onQueue { [descriptor] in
      var time = timeval(tv_sec: seconds, tv_usec: 0)
      // real time: whether a server says more, nobody else knows.
      setsockopt(
        descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
      var (bytes, piece) = ([UInt8](), [UInt8](repeating: 0, count: 64 << 10))
      while true {
        let count = recv(descriptor, &piece, piece.count, 0)
        guard count > 0 else { return (bytes, count == 0 || errno == ECONNRESET) }
        bytes += piece[..<count]
      }
    }
  }

  /// Whether the other end has not closed the connection; what has come by now is dropped.
  func isOpen() async -> Bool {
    await onQueue { [descriptor] in
      var piece = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = recv(descriptor, &piece, piece.count, Int32(MSG_DONTWAIT))
        guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) }
      }
    }
  }

  private func onQueue<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: body()) }
    }
  }
}

/// An answer's status line and fields.
struct RawHead {
  let text: String

  var status: Int? { text.split(separator: " ").dropFirst().first.flatMap { Int($0) } }

  /// How many bytes its body has.
  var length: Int {
    let field = text.lowercased().split(separator: "\r\n")
      .first { $0.hasPrefix("content-length:") }
    return field.flatMap { Int($0.dropFirst("content-length:".count).drop { $0 == " " }) } ?? 0
  }
}

extension LiveServer {
  /// The head of a request, with fields that each end their line.
  func head(_ method: String, _ path: String, _ fields: String = "") -> String {
    """
    \(method) \(path) HTTP/1.1\r
    Host: localhost\r
    Authorization: Bearer \(token)\r
    \(fields)\r\n
    """
  }
}
#endif
