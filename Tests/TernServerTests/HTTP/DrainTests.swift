#if Server
import Foundation
import TernCore
import Testing

@testable import TernServer

@Suite("HTTP: a drain", .timeLimit(.minutes(1)))
struct DrainTests {
  private static let event = "event: position\nid: 0\ndata: {\"position\":0}"

  @Test func `a load balancer learns first, and the server goes on meanwhile`() async throws {
    try await LiveServer.run(isWatched: true, drainDelay: .seconds(4)) { server async throws in
      while try await server.watch("/ready").status != 200 {
        // real time: the server looks at its store once a second.
        try await Task.sleep(for: .milliseconds(20))
      }
      var events = EventReader(server.request("/v1/spaces/home/events"))
      #expect(try await events.next() == Self.event)
      await server.group.triggerGracefulShutdown()
      while try await server.watch("/ready").status != 503 { await Task.yield() }
      var author = Author(1)
      #expect(try await server.push(author.write(count: 1)).status == 200)
      #expect(try await events.next()?.contains("id: 1") ?? false)
      var others = EventReader(server.request("/v1/spaces/home/events"))
      #expect(try await others.next()?.contains("id: 1") ?? false)
      #expect(try await server.watch("/health").status == 200)
    }
  }

  @Test func `a stream says how long its device is to wait, and ends`() async throws {
    try await LiveServer.run(jitter: 0.25) { server async throws in
      var events = EventReader(server.request("/v1/spaces/home/events"))
      #expect(try await events.next() == Self.event)
      await server.group.triggerGracefulShutdown()
      #expect(try await events.next() == "retry: 1000")
      #expect(try await events.next() == nil)
    }
  }

  @Test func `streams end one after the other, and nobody listens anew`() async throws {
    try await LiveServer.run(streamDrainTime: .milliseconds(100)) { server async throws in
      var streams: [EventReader] = []
      for _ in 0..<40 {
        var events = EventReader(server.request("/v1/spaces/home/events"))
        #expect(try await events.next() == Self.event)
        streams.append(events)
      }
      let began = ContinuousClock.now
      await server.group.triggerGracefulShutdown()
      // The first to listen is the first to go.
      #expect(try await streams[0].next()?.hasPrefix("retry: ") ?? false)
      let refused = try await server.send(server.request("/v1/spaces/home/events"))
      #expect(refused.problem == "unavailable" && refused.header("Retry-After") == "1")
      var delays: Set<String> = []
      for index in 1..<40 {
        let last = try await streams[index].next()
        #expect(last?.hasPrefix("retry: ") ?? false, "\(last ?? "")")
        delays.insert(last ?? "")
        #expect(try await streams[index].next() == nil)
      }
      #expect(delays.count > 10)
      // 40 steps of 2.5 ms, the last of which the server waits for.
      #expect(ContinuousClock.now - began > .milliseconds(90))
    }
  }

  @Test func `an open request is answered before the end`() async throws {
    let gate = Gate()
    var generator = SeededGenerator(state: 2)
    let store = FailingStore(
      MemorySpaceStore(using: &generator), onUpdate: { gate.pass($0) })
    try await LiveServer.run(store: store) { server async throws in
      gate.close()
      var author = Author(1)
      let operations = author.write(count: 1)
      async let answer = server.push(operations)
      while gate.spaces.isEmpty { await Task.yield() }
      await server.group.triggerGracefulShutdown()
      // real time: long enough for an end that waits for nobody.
      try await Task.sleep(for: .milliseconds(200))
      gate.open()
      #expect(try await answer.status == 200)
    }
  }
}
#endif
