#if Server
import Foundation
import TernCore
import Testing

@testable import TernServer

@Suite("Admin: health, readiness and metrics", .timeLimit(.minutes(1)))
struct AdminTests {
  /// Asks until the server says so; the time limit ends it otherwise.
  private func wait(_ server: LiveServer, until status: Int) async throws {
    while try await server.watch("/ready").status != status {
      // real time: the server looks at its store once a second.
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  @Test func `it has three paths, which take GET and no token`() async throws {
    try await LiveServer.run(isWatched: true) { server async throws in
      try await wait(server, until: 200)
      #expect(try await server.watch("/health").status == 200)
      #expect(try await server.watch("/v1/spaces/home").status == 404)
      let posted = try await server.watch("/metrics", method: "POST")
      #expect(posted.status == 405 && posted.header("Allow") == "GET")
      let metrics = try await server.send(server.request("/metrics"))
      #expect(metrics.problem == "not-found")
    }
  }

  @Test func `it is ready while the store answers`() async throws {
    var generator = SeededGenerator(state: 2)
    let store = FailingStore(MemorySpaceStore(using: &generator))
    try await LiveServer.run(store: store, isWatched: true) { server async throws in
      try await wait(server, until: 200)
      store.fail([.token])
      try await wait(server, until: 503)
      #expect(try await server.watch("/health").status == 200)
      #expect(try await server.metric("tern_ready") == "0")
      store.fail([])
      try await wait(server, until: 200)
      #expect(try await server.metric("tern_ready") == "1")
    }
  }

  @Test func `a store that answers no more makes it not ready after five seconds`() async throws {
    let time = HandInstant()
    let ready = ReadyCheck(now: time.look)
    let task = Task { await ready.run {} }
    while !ready.isReady { await Task.yield() }
    task.cancel()
    await task.value
    time.pass(.seconds(4.9))
    #expect(ready.isReady)
    time.pass(.seconds(0.1))
    #expect(!ready.isReady)
  }

  @Test func `what the server does is counted by kind, and by no space`() async throws {
    try await LiveServer.run(isWatched: true) { server async throws in
      var author = Author(1)
      let operations = author.write(count: 3)
      #expect(try await server.push(operations).status == 200)
      #expect(try await server.push(operations).status == 200)
      #expect(try await server.push(operations, to: "work").status == 403)
      _ = try await server.send(server.request("/v1/spaces/home", token: nil))
      _ = try await server.send(server.request("/nowhere"))
      var events = EventReader(server.request("/v1/spaces/home/events"))
      _ = try await events.next()
      // What the store holds is read when the server begins.
      while try await server.metric("tern_spaces") == nil { await Task.yield() }
      let text = String(decoding: try await server.watch("/metrics").body, as: UTF8.self)
      for line in [
        #"tern_requests_total{route="push",status="200"} 2"#,
        #"tern_requests_total{route="push",status="403"} 1"#,
        #"tern_requests_total{route="greet",status="401"} 1"#,
        #"tern_requests_total{route="unknown",status="404"} 1"#,
        #"tern_request_seconds_count{route="push"} 3"#,
        #"tern_request_seconds_bucket{route="push",le="+Inf"} 3"#,
        "tern_pushes_total 2", "tern_operations_accepted_total 3",
        #"tern_refusals_total{code="forbidden"} 1"#, "tern_event_streams 1",
        "tern_store_errors_total 0", "tern_spaces 1",
        #"tern_waiting_requests{queue="writes"} 0"#,
        #"tern_body_bytes_in_flight{direction="in"} 0"#,
      ] { #expect(text.contains("\(line)\n"), "\(line)") }
      #expect(!text.contains("home") && !text.contains("work"))
      #expect(Int(try await server.metric("tern_connections") ?? "") ?? 0 > 0)
      events.cancel()
    }
  }

  @Test func `a request that the store fails is a store's error`() async throws {
    var generator = SeededGenerator(state: 2)
    let store = FailingStore(MemorySpaceStore(using: &generator))
    try await LiveServer.run(store: store, isWatched: true) { server async throws in
      store.fail([.update(.home)])
      var author = Author(1)
      #expect(try await server.push(author.write(count: 1)).status == 503)
      #expect(try await server.metric("tern_store_errors_total") == "1")
      #expect(try await server.metric(#"tern_refusals_total{code="unavailable"}"#) == "1")
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `what the store holds is told, and of a database how it stands`(kind: StoreKind) async throws
  {
    let opened = try kind.open()
    try await LiveServer.run(store: opened.store, isWatched: true) { server async throws in
      // It is read when the server begins.
      while try await server.metric("tern_spaces") == nil { await Task.yield() }
      let text = String(decoding: try await server.watch("/metrics").body, as: UTF8.self)
      #expect(text.contains("\ntern_spaces 1\n") && text.contains("\ntern_stored_bytes 0\n"))
      let isDatabase = kind == .postgreSQL || kind == .pgBouncer
      for line in [
        "tern_database_waits_for_standby 0", "tern_database_connections_limit 4",
        "tern_database_oldest_snapshot_seconds ",
      ] { #expect(text.contains("\n\(line)") == isDatabase, "\(line)") }
    }
    withExtendedLifetime(opened.examination) {}
  }

  @Test func `an address that somebody has is named with the options to change`() async throws {
    try await LiveServer.run(isWatched: true) { server async throws in
      let port = try #require(server.adminPort)
      let error = await #expect(throws: ListenError.self) {
        try await LiveServer.run(isWatched: true, adminPort: port) { _ in }
      }
      #expect(error?.description.contains("choose another --admin-host or --admin-port") ?? false)
    }
  }
}

extension LiveServer {
  /// The value of one metric with its labels; `nil` where there is none.
  func metric(_ name: String) async throws -> String? {
    let text = String(decoding: try await watch("/metrics").body, as: UTF8.self)
    return text.split(separator: "\n").first { $0.hasPrefix("\(name) ") }
      .map { String($0.dropFirst(name.count + 1)) }
  }
}
#endif
