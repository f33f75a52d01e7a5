#if Server && os(Linux)
import Foundation
import Synchronization
import Tern

/// A server on 127.0.0.1 that greets, takes pushes, and answers each pull with an empty page that has
/// another cursor and says that there is more.
final class EndlessServer: Sendable {
  let port: Int
  private let listener: Int32
  private let counts = Mutex((pulls: 0, isEndless: true))

  var pulls: Int { counts.withLock { $0.pulls } }

  init() throws {
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let (listener, isReady) = withUnsafeMutableBytes(of: &address) { [listener] bytes in
      let pointer = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
      return (
        listener,
        bind(listener, pointer, length) == 0 && Glibc.listen(listener, 16) == 0
          && getsockname(listener, pointer, &length) == 0
      )
    }
    guard isReady else { throw POSIXError(.EADDRINUSE) }
    port = Int(UInt16(bigEndian: address.sin_port))
    Thread { [self] in
      while case let socket = accept(listener, nil, nil), socket >= 0 {
        Thread { self.serve(socket) }.start()
      }
    }.start()
  }

  /// Its next page is the last.
  func end() { counts.withLock { $0.isEndless = false } }

  func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

  private func serve(_ socket: Int32) {
    defer { close(socket) }
    while let line = readRequest(socket) {
      let now = Int64(Date().timeIntervalSince1970 * 1000)
      if line.contains("/operations?") {
        let (pull, more) = counts.withLock { counts in
          counts.pulls += 1
          return (counts.pulls, counts.isEndless ? 1 : 0)
        }
        answer(
          socket, "application/vnd.tern.batch", OperationBatch([]).encoded(),
          "Tern-Cursor: \(pull)\r\nTern-More: \(more)\r\nTern-Now: \(now)\r\n")
      } else {
        let json =
          line.hasPrefix("POST")
          ? #"{"accepted":1,"now":\#(now),"position":1}"#
          : #"{"epoch":"e","heads":{},"now":\#(now),"position":1}"#
        answer(socket, "application/json", Array(json.utf8))
      }
    }
  }

  private func answer(_ socket: Int32, _ type: String, _ body: [UInt8], _ fields: String = "") {
    let head =
      "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\n\(fields)Content-Length: \(body.count)\r\n\r\n"
    let bytes = Array(head.utf8) + body
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { return }
      sent += count
    }
  }

  /// - Returns: the first line of a request that was read with its body; `nil` at the end.
  private func readRequest(_ socket: Int32) -> String? {
    var head: [UInt8] = []
    var byte: UInt8 = 0
    while !head.suffix(4).elementsEqual(Array("\r\n\r\n".utf8)) {
      guard recv(socket, &byte, 1, 0) == 1 else { return nil }
      head.append(byte)
    }
    let lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n")
    let length = lines.lazy.map { $0.lowercased() }
      .first { $0.hasPrefix("content-length:") }
      .flatMap { Int($0.dropFirst("content-length:".count).trimmingCharacters(in: .whitespaces)) }
    for _ in 0..<(length ?? 0) where recv(socket, &byte, 1, 0) != 1 { return nil }
    return lines.first
  }
}
#endif
