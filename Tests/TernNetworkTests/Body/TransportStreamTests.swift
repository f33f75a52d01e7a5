#if os(Linux)
import Foundation
import Synchronization
import TestProcesses
import Testing

@testable import TernNetwork

@Suite("Body: bodies that are never whole in memory", .timeLimit(.minutes(3)))
struct TransportStreamTests {
  private static let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"

  /// A sanitizer has its notes, and what it keeps of what was freed, on top.
  private static let memoryRoom =
    dlsym(nil, "__asan_init") == nil && dlsym(nil, "__tsan_init") == nil ? 16 << 20 : 64 << 20

  @Test(
    "200 streams are open at once, and each goes on with its own", arguments: TransportKind.allCases
  )
  func streams(_ kind: TransportKind) async throws {
    let transport = try kind.make()
    let areOpen = Signal()
    let server = try LocalServer { connection in
      guard let request = connection.readRequest() else { return }
      connection.write(Self.head + "data: \(request.line)\n\n")
      areOpen.block()
      connection.write("data: again \(request.line)\n\n")
    }
    defer { server.stop() }
    let openCount = Tally()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<200 {
        group.addTask {
          let url = "\(server.url)/\(number)"
          let response = try await transport.send(HTTPRequest(.get, url, timeout: .seconds(60)))
          let events = EventStream(response.body)
          let line = "GET /\(number) HTTP/1.1"
          #expect(try await events.next()?.data == line)
          // Nobody's second event is sent before everybody has read a first.
          if openCount.add() == 200 { areOpen.fire() }
          #expect(try await events.next()?.data == "again " + line)
          #expect(try await events.next() == nil)
        }
      }
      try await group.waitForAll()
    }
    #expect(server.connectionCount == 200)
  }

  @Test(
    "256 MiB go up and come down at once, and memory stays flat", arguments: TransportKind.allCases)
  func bothWays(_ kind: TransportKind) async throws {
    try kind.skip(.duplex)
    // An echo that reads no faster than it is read: whoever stops holds everybody.
    let server = try LocalServer { connection in
      guard let request = connection.readHead() else { return }
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(request.byteCount)\r\n\r\n")
      _ = connection.read(upTo: request.byteCount) { connection.write(Array($0)) }
      connection.waitForEnd()
    }
    defer { server.stop() }
    try await exchange(with: server, over: kind)
  }

  @Test(
    "256 MiB go up, and then come down, and memory stays flat", arguments: TransportKind.allCases)
  func oneByOne(_ kind: TransportKind) async throws {
    let server = try LocalServer { connection in
      guard let request = connection.readHead(), let store = tmpfile() else { return }
      defer { fclose(store) }
      let count = connection.read(upTo: request.byteCount) {
        fwrite($0.baseAddress, 1, $0.count, store)
      }
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n")
      rewind(store)
      var piece = [UInt8](repeating: 0, count: 64 << 10)
      while case let count = fread(&piece, 1, piece.count, store), count > 0 {
        guard connection.write(Array(piece.prefix(count))) else { return }
      }
      connection.waitForEnd()
    }
    defer { server.stop() }
    try await exchange(with: server, over: kind)
  }

  /// Sends a file, and compares what comes back with it.
  private func exchange(with server: LocalServer, over kind: TransportKind) async throws {
    let byteCount = 256 << 20
    let file = try TemporaryFile()
    try file.truncate(to: byteCount)
    for (number, offset) in stride(from: 0, to: byteCount, by: 999_983).enumerated() {
      try file.overwrite(at: offset, with: [UInt8(truncatingIfNeeded: number + 1)])
    }
    let transport = try kind.make()
    let descriptor = file.open()
    defer { close(descriptor) }
    let request = HTTPRequest(
      .put, server.url, body: .segments([.file(FileSegment(file.path))]))
    var equalBytes = 0
    let memory = try await peakMemory {
      let response = try await transport.send(request)
      var copy: [UInt8] = []
      var position = 0
      for try await chunk in response.body {
        if copy.count < chunk.count { copy = [UInt8](repeating: 0, count: chunk.count) }
        // Not by element, which takes seconds without optimisation.
        let isEqual =
          pread(descriptor, &copy, chunk.count, off_t(position)) == chunk.count
          && memcmp(copy, chunk, chunk.count) == 0
        if isEqual { equalBytes += chunk.count }
        position += chunk.count
      }
    }
    #expect(equalBytes == byteCount)
    try kind.skip(.flat)
    print("256 MiB up and down over \(kind): \(memory >> 20) MiB more than before")
    // A sixteenth of the file would not fit.
    #expect(memory < Self.memoryRoom)
  }

  @Test(
    "a reader that comes late has its request sent once, and gets every byte once",
    arguments: TransportKind.allCases)
  func lateReader(_ kind: TransportKind) async throws {
    let bytes = noise(1 << 20)
    let file = try TemporaryFile(bytes)
    let requestCount = Tally()
    let isLate = Signal()
    let server = try LocalServer { connection in
      guard let request = connection.readHead() else { return }
      _ = requestCount.add()
      guard let body = connection.read(request.byteCount) else { return }
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
      connection.write(Array(body.prefix(body.count / 2)))
      // The answer is still on its way when the reader's buffer is full.
      isLate.block()
      connection.write(Array(body.suffix(body.count - body.count / 2)))
      connection.waitForEnd()
    }
    let silent = try LocalServer { $0.waitForEnd() }
    defer {
      server.stop()
      silent.stop()
    }
    let transport = try kind.make(bodyBufferBytes: 1)
    let request = HTTPRequest(
      .put, server.url, body: .segments([.file(FileSegment(file.path))]), timeout: .seconds(30))
    let response = try await transport.send(request)
    // Another exchange that runs into its timeout is the clock.
    let clock = HTTPRequest(.get, silent.url, timeout: .seconds(1))
    #expect(await transport.error(of: clock) != nil)
    isLate.fire()
    #expect(try await response.collect(limit: bytes.count) == bytes)
    #expect(requestCount.count == 1)
  }

  @Test(
    "an upload waits for a server that doesn't read, and its timeout ends it",
    arguments: TransportKind.allCases)
  func heldUpload(_ kind: TransportKind) async throws {
    let file = try TemporaryFile()
    try file.truncate(to: 256 << 20)
    let ended = Signal()
    let server = try LocalServer { connection in
      _ = connection.readHead()
      ended.block()
    }
    defer { server.stop() }
    let transport = try kind.make()
    let memory = try await peakMemory {
      let request = HTTPRequest(
        .put, server.url, body: .segments([.file(FileSegment(file.path))]), timeout: .seconds(2))
      let error = await transport.error(of: request)
      #expect(error?.code == .timedOut)
    }
    ended.fire()
    #expect(memory < (kind.isLibcurl ? Self.memoryRoom : 64 << 20))
  }

  @Test(
    "a body comes without its gzip, whatever pieces it came in", arguments: TransportKind.allCases)
  func gzip(_ kind: TransportKind) async throws {
    let bytes = noise(10_000) + [UInt8](repeating: 7, count: 300_000)
    let file = try TemporaryFile(bytes)
    let gzip = try ChildProcess("/usr/bin/env", arguments: ["gzip", "-c", file.path])
    gzip.endInput()
    var packed: [UInt8] = []
    while let piece = gzip.read() { packed += piece }
    #expect(gzip.wait() == 0)
    let server = try LocalServer { [packed] connection in
      while let request = connection.readRequest() {
        guard request.headers["accept-encoding"]?.contains("gzip") == true else {
          connection.answer(406)
          continue
        }
        connection.write(
          "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(packed.count)\r\n\r\n")
        for start in stride(from: 0, to: packed.count, by: 1000) {
          connection.write(Array(packed[start..<min(start + 1000, packed.count)]))
        }
      }
    }
    defer { server.stop() }
    let response = try await kind.make().send(HTTPRequest(.get, server.url))
    #expect(response.status == 200)
    // Neither is true of what the reader gets.
    #expect(response.headers["Content-Encoding"] == nil)
    #expect(response.headers["Content-Length"] == nil)
    #expect(try await response.collect(limit: bytes.count) == bytes)
  }

  @Test("a body that is no gzip though it says so is an error, and never half of it")
  func brokenGzip() async throws {
    let server = try LocalServer { connection in
      while connection.readRequest() != nil {
        connection.answer(200, "Content-Encoding: gzip\r\n", body: Array("no gzip".utf8))
      }
    }
    defer { server.stop() }
    let error = await failure(HTTPError.self) {
      let transport = try TransportKind.libcurl.make()
      _ = try await transport.send(HTTPRequest(.get, server.url)).collect(limit: 100)
    }
    #expect(error?.code == .invalidAnswer)
  }

  @Test("who asks for a coding of its own gets the answer as it came")
  func ownCoding() async throws {
    let server = try LocalServer { connection in
      while let request = connection.readRequest() {
        let coding = request.headers["accept-encoding"] ?? "none"
        connection.answer(200, "Content-Encoding: gzip\r\n", body: Array(coding.utf8))
      }
    }
    defer { server.stop() }
    let transport = try TransportKind.libcurl.make()
    let request = HTTPRequest(.get, server.url, headers: ["Accept-Encoding": "br"])
    let response = try await transport.send(request)
    #expect(response.headers["Content-Encoding"] == "gzip")
    #expect(try await response.collect(limit: 100) == Array("br".utf8))
  }
}

private final class Tally: Sendable {
  private let total = Mutex(0)

  var count: Int { total.withLock { $0 } }

  /// - Returns: How many there are now.
  func add() -> Int {
    total.withLock { count in
      count += 1
      return count
    }
  }
}
#endif
