#if os(Linux)
import Foundation
import Synchronization
import Testing

@testable import TernNetwork

@Suite("Upload: a body that is read from files while it is sent", .timeLimit(.minutes(1)))
struct FileBodyTests {
  let transport = CurlTransport()

  private func echo() throws -> LocalServer {
    try LocalServer { connection in
      while let request = connection.readRequest() {
        let type = request.headers["content-type"] ?? "none"
        connection.answer(200, "Sent-Type: \(type)\r\n", body: request.body)
      }
    }
  }

  @Test("bytes and parts of files arrive in their order, nothing left out")
  func segments() async throws {
    let server = try echo()
    defer { server.stop() }
    let bytes = noise(200_000)
    let (file, empty) = (try TemporaryFile(bytes), try TemporaryFile())
    let body: HTTPRequest.Body = .segments([
      .file(FileSegment(empty.path)), .text("head"),
      .file(FileSegment(file.path, range: 65_535..<131_073, fileByteCount: 200_000)), .bytes([]),
      .file(FileSegment(file.path, range: 7..<7)), .file(FileSegment(file.path)), .text("tail"),
    ])
    let response = try await transport.send(HTTPRequest(.put, server.url, body: body))
    let expected = Array("head".utf8) + bytes[65_535..<131_073] + bytes + Array("tail".utf8)
    #expect(try await response.collect(limit: 1 << 20) == expected)
    #expect(!file.isOpen && !empty.isOpen)
  }

  @Test("no segments are an empty body, with its length")
  func nothing() async throws {
    let server = try echo()
    defer { server.stop() }
    let response = try await transport.send(HTTPRequest(.put, server.url, body: .segments([])))
    #expect(response.status == 200)
    #expect(try await response.collect(limit: 0).isEmpty)
  }

  @Test("a form arrives as it was built, under its type")
  func form() async throws {
    let server = try echo()
    defer { server.stop() }
    let photo = noise(100_000)
    let file = try TemporaryFile(photo)
    var form = MultipartForm(boundary: "b")
    form.add("photos[]", file: FileSegment(file.path), named: "ä.jpg", type: "image/jpeg")
    let response = try await transport.send(
      HTTPRequest(.post, server.url, body: .form(form)))
    #expect(response.headers["Sent-Type"] == "multipart/form-data; boundary=b")
    let head =
      "--b\r\nContent-Disposition: form-data; name=\"photos[]\"; filename=\"ä.jpg\"\r\n"
      + "Content-Type: image/jpeg\r\n\r\n"
    let expected = Array(head.utf8) + photo + Array("\r\n--b--\r\n".utf8)
    #expect(try await response.collect(limit: 1 << 20) == expected)
  }

  @Test("256 MiB go through without being in memory")
  func large() async throws {
    let byteCount = 256 << 20
    let file = try TemporaryFile()
    try file.truncate(to: byteCount)
    for (number, offset) in stride(from: 0, to: byteCount, by: 999_983).enumerated() {
      try file.overwrite(at: offset, with: [UInt8(truncatingIfNeeded: number + 1)])
    }
    let descriptor = file.open()
    defer { close(descriptor) }
    let seen = Mutex((equalBytes: 0, mostMemory: 0))
    let server = try LocalServer { connection in
      guard let request = connection.readHead() else { return }
      var (position, equal, most) = (0, 0, 0)
      let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
      defer { copy.deallocate() }
      _ = connection.read(upTo: request.byteCount) { chunk in
        let count = pread(descriptor, copy.baseAddress, chunk.count, off_t(position))
        // Not by element, which takes seconds without optimisation.
        if count == chunk.count, memcmp(copy.baseAddress!, chunk.baseAddress!, count) == 0 {
          equal += count
        }
        position += chunk.count
        most = max(most, residentBytes())
      }
      seen.withLock { $0 = (equal, most) }
      connection.answer()
    }
    defer { server.stop() }
    let before = residentBytes()
    let request = HTTPRequest(.put, server.url, body: .segments([.file(FileSegment(file.path))]))
    #expect(try await transport.send(request).status == 200)
    let (equalBytes, mostMemory) = seen.withLock { $0 }
    #expect(equalBytes == byteCount)
    // Room for other tests of this process; the file would not fit.
    #expect(mostMemory - before < 96 << 20)
  }

  @Test("a file that can't be read is a typed error before anybody is called")
  func unreadable() async throws {
    let server = try echo()
    defer { server.stop() }
    let pipe = FileManager.default.temporaryDirectory.appending(path: "secret-\(UUID())").path
    #expect(mkfifo(pipe, 0o600) == 0)
    defer { unlink(pipe) }
    let file = try TemporaryFile([1, 2, 3])
    let cases: [(FileSegment, HTTPError.Code)] = [
      (FileSegment("/secret/missing"), .fileMissing),
      (FileSegment(file.path + "/secret"), .fileMissing),
      (FileSegment(FileManager.default.temporaryDirectory.path), .fileUnreadable),
      (FileSegment(pipe), .fileUnreadable),
      (FileSegment(file.path, range: 1..<4), .fileChanged),
      (FileSegment(file.path, range: -1..<2), .fileChanged),
      (FileSegment(file.path, fileByteCount: 4), .fileChanged),
      (FileSegment(file.path, range: 0..<1, fileByteCount: 2), .fileChanged),
    ]
    for (segment, code) in cases {
      let request = HTTPRequest(.post, server.url, body: .segments([.text("a"), .file(segment)]))
      let error = await transport.error(of: request)
      #expect(error?.code == code, "\(segment)")
      #expect(error.map { "\($0)".contains("secret") } == false)
      #expect(error?.origin == (try HTTPOrigin(of: server.url)))
    }
    #expect(server.connectionCount == 0)
    #expect(!file.isOpen)
  }

  enum Change: CaseIterable {
    case shorter, longer, otherBytes
  }

  @Test("a file that changes while it is sent never arrives whole", arguments: Change.allCases)
  func changed(change: Change) async throws {
    // More than the socket's buffers take, so that the end is read after the change.
    let bytes = [UInt8](repeating: 1, count: 32 << 20)
    let file = try TemporaryFile(bytes)
    let received = Mutex(0)
    let isOver = Signal()
    let server = try LocalServer { connection in
      guard let request = connection.readHead() else { return }
      do {
        switch change {
        case .shorter: try file.truncate(to: bytes.count - 1)
        case .longer: try file.overwrite(at: bytes.count, with: [2])
        case .otherBytes: try file.overwrite(at: bytes.count - 1, with: [2])
        }
      } catch {
        Issue.record(error)
      }
      let count = connection.read(upTo: request.byteCount) { _ in }
      received.withLock { $0 = count }
      isOver.fire()
    }
    defer { server.stop() }
    let request = HTTPRequest(.post, server.url, body: .segments([.file(FileSegment(file.path))]))
    let error = await transport.error(of: request)
    #expect(error?.code == .fileChanged)
    await isOver.wait()
    #expect(received.withLock { $0 } < bytes.count)
    #expect(!file.isOpen)
  }

  @Test("a file whose name was given to another is sent as it was opened")
  func replaced() async throws {
    let bytes = [UInt8](repeating: 5, count: 32 << 20)
    let (file, other) = (try TemporaryFile(bytes), try TemporaryFile([1]))
    let isSame = Mutex(false)
    let server = try LocalServer { connection in
      guard let head = connection.readHead() else { return }
      rename(other.path, file.path)
      let body = connection.read(head.byteCount)
      isSame.withLock { $0 = body == bytes }
      connection.answer()
    }
    defer { server.stop() }
    let request = HTTPRequest(.post, server.url, body: .segments([.file(FileSegment(file.path))]))
    #expect(try await transport.send(request).status == 200)
    #expect(isSame.withLock { $0 })
  }

  @Test("a repeatable request reads its files again when a kept connection was closed")
  func repeated() async throws {
    let bytes = noise(100_000)
    let file = try TemporaryFile(bytes)
    let bodies = Mutex<[[UInt8]]>([])
    let server = try LocalServer { connection in
      // Closes on the second request as if it had never come.
      while let request = connection.readRequest() {
        let count = bodies.withLock { bodies in
          bodies.append(request.body)
          return bodies.count
        }
        if count == 2 { return }
        connection.answer()
      }
    }
    defer { server.stop() }
    let request = HTTPRequest(.put, server.url, body: .segments([.file(FileSegment(file.path))]))
    for _ in 0..<2 {
      #expect(try await transport.send(request).collect(limit: 0).isEmpty)
    }
    #expect(bodies.withLock { $0 } == [bytes, bytes, bytes])
  }

  @Test("a server that refuses a body without reading it is heard")
  func refused() async throws {
    let file = try TemporaryFile()
    try file.truncate(to: 32 << 20)
    let server = try LocalServer { connection in
      guard connection.readHead() != nil else { return }
      connection.answer(413, body: [7])
      connection.waitForEnd()
    }
    defer { server.stop() }
    let request = HTTPRequest(.post, server.url, body: .segments([.file(FileSegment(file.path))]))
    let response = try await transport.send(request)
    #expect(response.status == 413)
    #expect(try await response.collect(limit: 1) == [7])
    #expect(!file.isOpen)
  }
}

/// What this process has in memory.
private func residentBytes() -> Int {
  let words = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(
    separator: " ")
  return (words?.dropFirst().first.flatMap { Int($0) } ?? 0) * Int(getpagesize())
}
#endif
