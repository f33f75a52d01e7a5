#if os(Linux)
import Foundation
import Synchronization
import TernNetwork
import TernTesting
import Testing

/// What carries uploads for a queue. `URLSessionTransfers` runs over an ordinary session of Linux' own URLSession
/// here: what a background session does beyond the process is not to be had.
enum TransferKind: String, CaseIterable {
  case transport
  #if Rehearsal
  case urlSession
  #endif

  func make(answerLimit: Int = 256 << 10, concurrency: Int = 4) -> any BackgroundTransfers {
    switch self {
    case .transport: TransportTransfers(concurrency: concurrency, answerLimit: answerLimit)
    #if Rehearsal
    case .urlSession: URLSessionTransfers("org.example.tests", answerLimit: answerLimit)
    #endif
    }
  }
}

@Suite("Transfer: files that are sent, by every kind of transfer", .timeLimit(.minutes(1)))
struct TransferTests {
  private typealias News = (id: String, answer: TransferAnswer)

  /// Runs the transfers while a test looks at what they tell.
  private func running<T>(
    _ transfers: any BackgroundTransfers,
    _ body: (inout AsyncStream<News>.Iterator) async throws -> T
  ) async throws -> T {
    let (stream, news) = AsyncStream.makeStream(of: News.self)
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await transfers.run { news.yield(($0, $1)) } }
      var iterator = stream.makeAsyncIterator()
      let result = try await body(&iterator)
      group.cancelAll()
      return result
    }
  }

  private func status(_ news: News?) -> Int? {
    if case .response(let status, _, _) = news?.answer { status } else { nil }
  }

  private func failure(_ news: News?) -> HTTPError.Code? {
    if case .failure(let error) = news?.answer { error.code } else { nil }
  }

  private func file(_ bytes: [UInt8]) throws -> (TemporaryFile, URL) {
    let file = try TemporaryFile(bytes)
    return (file, URL(filePath: file.path))
  }

  @Test(arguments: TransferKind.allCases)
  func `a file is sent, and its answer told until it is forgotten`(_ kind: TransferKind)
    async throws
  {
    let server = try LocalServer { connection in
      while let request = connection.readRequest() {
        let key = request.headers["idempotency-key"] ?? ""
        connection.answer(201, "X-Key: \(key)\r\n", body: request.body.reversed())
      }
    }
    defer { server.stop() }
    let (kept, url) = try file(Array(1...200))
    let transfers = kind.make()
    let request = HTTPRequest(.put, server.url + "/photo", headers: ["Idempotency-Key": "k1"])
    try await transfers.begin("one", request, file: url)
    #expect(await transfers.ids() == ["one"])
    for _ in 1...2 {
      let news = try await running(transfers) { await $0.next() }
      #expect(news?.id == "one")
      guard case .response(201, let headers, let body) = news?.answer else {
        Issue.record("\(String(describing: news))")
        return
      }
      #expect(headers["X-Key"] == "k1")
      #expect(body == Array(1...200).reversed())
      #expect(await transfers.ids() == ["one"])
    }
    await transfers.forget("one")
    #expect(await transfers.ids().isEmpty)
    #expect(server.connectionCount == 1)
    withExtendedLifetime(kept) {}
  }

  @Test(arguments: TransferKind.allCases)
  func `one that is begun twice is sent once`(_ kind: TransferKind) async throws {
    let count = Mutex(0)
    let server = try LocalServer { connection in
      while connection.readRequest() != nil {
        count.withLock { $0 += 1 }
        connection.answer(500)
      }
    }
    defer { server.stop() }
    let (kept, url) = try file([1])
    let transfers = kind.make()
    let request = HTTPRequest(.post, server.url)
    for _ in 1...2 { try await transfers.begin("one", request, file: url) }
    try await running(transfers) { news in
      #expect(status(await news.next()) == 500)
      try await transfers.begin("one", request, file: url)
      try await transfers.begin("two", request, file: url)
      #expect(await news.next()?.id == "two")
    }
    #expect(count.withLock { $0 } == 2)
    withExtendedLifetime(kept) {}
  }

  @Test(arguments: TransferKind.allCases)
  func `one that is forgotten ends on the wire`(_ kind: TransferKind) async throws {
    let (begun, ended) = (Signal(), Signal())
    let server = try LocalServer { connection in
      guard connection.readRequest() != nil else { return }
      begun.fire()
      connection.waitForEnd()
      ended.fire()
    }
    defer { server.stop() }
    let (kept, url) = try file([1])
    let transfers = kind.make()
    try await running(transfers) { _ in
      try await transfers.begin("one", HTTPRequest(.post, server.url), file: url)
      await begun.wait()
      await transfers.forget("one")
      await ended.wait()
      #expect(await transfers.ids().subtracting(["one"]).isEmpty)
    }
    withExtendedLifetime(kept) {}
  }

  @Test(arguments: TransferKind.allCases)
  func `what can't be sent, or has no answer, says why`(_ kind: TransferKind) async throws {
    let server = try LocalServer { connection in
      while connection.readRequest() != nil {
        connection.answer(200, body: [UInt8](repeating: 7, count: 101))
      }
    }
    defer { server.stop() }
    let (kept, url) = try file([1])
    let transfers = kind.make(answerLimit: 100)
    let closed = "http://127.0.0.1:\(try LocalServer.closedPort())"
    await #expect(throws: HTTPError.self) {
      try await transfers.begin("bad", HTTPRequest(.post, "mailto:nobody"), file: url)
    }
    await #expect(throws: HTTPError.self) {
      try await transfers.begin(
        "bad", HTTPRequest(.post, server.url, headers: ["A": "b\r\nc"]), file: url)
    }
    try await running(transfers) { news in
      try await transfers.begin("long", HTTPRequest(.post, server.url), file: url)
      #expect(failure(await news.next()) == .bodyTooLarge)
      try await transfers.begin("closed", HTTPRequest(.post, closed), file: url)
      #expect(failure(await news.next()) == .connectionRefused)
    }
    #expect(await transfers.ids() == ["long", "closed"])
    withExtendedLifetime(kept) {}
  }

  @Test(arguments: TransferKind.allCases)
  func `an answer may have no limit`(_ kind: TransferKind) async throws {
    let body = [UInt8](repeating: 7, count: 300_000)
    let server = try LocalServer { connection in
      while connection.readRequest() != nil { connection.answer(200, body: body) }
    }
    defer { server.stop() }
    let (kept, url) = try file([1])
    let transfers = kind.make(answerLimit: .max)
    try await running(transfers) { news in
      try await transfers.begin("one", HTTPRequest(.post, server.url), file: url)
      guard case .response(200, _, let answer) = await news.next()?.answer else {
        Issue.record("no answer")
        return
      }
      #expect(answer == body)
    }
    withExtendedLifetime(kept) {}
  }

  @Test(arguments: TransferKind.allCases)
  func `one that is under way is not begun again, whatever became of its file`(
    _ kind: TransferKind
  ) async throws {
    let server = try LocalServer { connection in
      while connection.readRequest() != nil { connection.answer(204) }
    }
    defer { server.stop() }
    let path = "\(NSTemporaryDirectory())transfer-\(UUID().uuidString)"
    let url = URL(filePath: path)
    try Data([1]).write(to: url)
    let transfers = kind.make()
    let request = HTTPRequest(.post, server.url)
    try await transfers.begin("one", request, file: url)
    try await running(transfers) { news in #expect(status(await news.next()) == 204) }
    try FileManager.default.removeItem(at: url)
    try await transfers.begin("one", request, file: url)
    #expect(await transfers.ids() == ["one"])
  }

  @Test(arguments: TransferKind.allCases)
  func `an answer waits for no other one, and an error's need not be short`(_ kind: TransferKind)
    async throws
  {
    let server = try LocalServer { connection in
      while connection.readRequest() != nil {
        connection.answer(
          503, "Retry-After: 7\r\n", body: [UInt8](repeating: 7, count: 1000))
      }
    }
    defer { server.stop() }
    let (kept, url) = try file([1])
    let transfers = kind.make(answerLimit: 100)
    let (stream, news) = AsyncStream.makeStream(of: News.self)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        await transfers.run { id, answer in
          news.yield((id, answer))
          // Cancelled with the run: the first one is never stored.
          // real time: nobody waits for the hour.
          try? await Task.sleep(for: .seconds(3600))
        }
      }
      var iterator = stream.makeAsyncIterator()
      for id in ["one", "two"] {
        try await transfers.begin(id, HTTPRequest(.post, server.url), file: url)
        let next = await iterator.next()
        #expect(next?.id == id)
        guard case .response(503, let headers, let body) = next?.answer else {
          Issue.record("\(String(describing: next))")
          continue
        }
        #expect(headers["Retry-After"] == "7")
        #expect(body.isEmpty)
      }
      group.cancelAll()
    }
    withExtendedLifetime(kept) {}
  }

  #if Rehearsal
  @Test func `a file that is there and can't be read is not a missing one`() async throws {
    let path = "\(NSTemporaryDirectory())transfer-\(UUID().uuidString)"
    // Whoever runs this may be allowed to read everything; nobody can follow this one to its end.
    #expect(symlink(path, path) == 0)
    defer { unlink(path) }
    let transfers = TransferKind.urlSession.make()
    let request = HTTPRequest(.post, "http://127.0.0.1:\(try LocalServer.closedPort())")
    for (path, code) in [(path, HTTPError.Code.fileUnreadable), (path + "-none", .fileMissing)] {
      let error = await #expect(throws: HTTPError.self) {
        try await transfers.begin("one", request, file: URL(filePath: path))
      }
      #expect(error?.code == code)
    }
    #expect(await transfers.ids().isEmpty)
  }
  #endif

  @Test func `what a run of this process did not send is lost with it`() async throws {
    let begun = Signal()
    let server = try LocalServer { connection in
      guard connection.readRequest() != nil else { return }
      begun.fire()
      connection.waitForEnd()
    }
    defer { server.stop() }
    let (kept, url) = try file([1])
    let transfers = TransportTransfers(concurrency: 1)
    try await running(transfers) { _ in
      try transfers.begin("one", HTTPRequest(.post, server.url), file: url)
      try transfers.begin("two", HTTPRequest(.post, server.url), file: url)
      await begun.wait()
      #expect(transfers.ids() == ["one", "two"])
      #expect(server.connectionCount == 1)
    }
    #expect(transfers.ids().isEmpty)
    withExtendedLifetime(kept) {}
  }

  @Test func `a request that may be silent for ever is sent with a limit`() async throws {
    let transport = ScriptedTransport { _ in .json("{}") }
    let transfers = TransportTransfers(over: transport, concurrency: 1)
    let (kept, url) = try file([1])
    let request = HTTPRequest(.post, "http://127.0.0.1:1", idleTimeout: nil)
    var patient = request
    patient.idleTimeout = .seconds(3600)
    try transfers.begin("one", request, file: url)
    try transfers.begin("two", patient, file: url)
    try await running(transfers) { news in for _ in 1...2 { _ = await news.next() } }
    #expect(transport.requests.map(\.idleTimeout) == [.seconds(300), .seconds(3600)])
    withExtendedLifetime(kept) {}
  }

  @Test func `a form is written to a file as it would be sent`() throws {
    let photo = try TemporaryFile(Array("photo".utf8))
    let written = try TemporaryFile([UInt8](repeating: 7, count: 5000))
    var form = MultipartForm(boundary: "b")
    form.add("title", "Dune")
    form.add("photo", file: FileSegment(photo.path), named: "shelf.jpg", type: "image/jpeg")
    try form.write(to: URL(filePath: written.path))
    #expect(
      try String(contentsOfFile: written.path, encoding: .utf8) == """
        --b\r
        Content-Disposition: form-data; name="title"\r
        \r
        Dune\r
        --b\r
        Content-Disposition: form-data; name="photo"; filename="shelf.jpg"\r
        Content-Type: image/jpeg\r
        \r
        photo\r
        --b--\r\n
        """)
    #expect(form.contentType == "multipart/form-data; boundary=b")
    let bad = MultipartForm(boundary: "not one")
    let refused = #expect(throws: HTTPError.self) {
      try bad.write(to: URL(filePath: written.path))
    }
    #expect(refused?.code == .invalidHeader)
    form.add("gone", file: FileSegment("/nowhere"), named: "x")
    let error = #expect(throws: HTTPError.self) { try form.write(to: URL(filePath: written.path)) }
    #expect(error?.code == .fileMissing)
  }
}
#endif
