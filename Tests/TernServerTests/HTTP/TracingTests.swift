#if Server
import Foundation
import InMemoryTracing
import TernCore
import Testing
import Tracing

@testable import TernServer

@Suite("HTTP: spans of requests and transactions", .timeLimit(.minutes(1)))
struct TracingTests {
  private func spans(
    _ body: (LiveServer) async throws -> Void
  ) async throws -> [FinishedInMemorySpan] {
    let tracer = InMemoryTracer()
    try await LiveServer.run(tracer: tracer) { server async throws in
      try await body(server)
      // Of an answer that has come the span ends beside.
      while !tracer.activeSpans.isEmpty { await Task.yield() }
    }
    return tracer.finishedSpans
  }

  @Test func `a push is a span, and what it does at the store are spans below`() async throws {
    var author = Author(1)
    let operations = author.write(count: 2)
    let spans = try await spans { server async throws in
      #expect(try await server.push(operations).status == 200)
    }
    let push = try #require(spans.first { $0.operationName == "push" })
    #expect(push.kind == .server && push.parentSpanID == nil && push.status == nil)
    #expect(push.attributes.get("http.response.status_code") == .int64(200))
    #expect(push.attributes.get("tern.space") == .string("home"))
    let below = spans.filter { $0.parentSpanID == push.spanID }.map(\.operationName)
    #expect(below == ["store read", "unpack", "store write"])
    #expect(spans.allSatisfy { $0.traceID == push.traceID || $0.operationName == "store write" })
  }

  @Test func `a request goes on with its caller's trace`() async throws {
    let spans = try await spans { server async throws in
      var request = server.request("/v1/spaces/home")
      request.setValue("the-trace", forHTTPHeaderField: InMemoryTracer.traceIDKey)
      request.setValue("the-span", forHTTPHeaderField: InMemoryTracer.spanIDKey)
      #expect(try await server.send(request).status == 200)
    }
    let greet = try #require(spans.first { $0.operationName == "greet" })
    #expect(greet.traceID == "the-trace")
  }

  @Test func `a store that fails makes the span an error, and a refusal doesn't`() async throws {
    var generator = SeededGenerator(state: 2)
    let store = FailingStore(MemorySpaceStore(using: &generator))
    let tracer = InMemoryTracer()
    try await LiveServer.run(store: store, tracer: tracer) { server async throws in
      store.fail([.update(.home)])
      var author = Author(1)
      #expect(try await server.push(author.write(count: 1)).status == 503)
      _ = try await server.send(server.request("/v1/spaces/home", token: nil))
      while !tracer.activeSpans.isEmpty { await Task.yield() }
    }
    let spans = tracer.finishedSpans
    #expect(spans.first { $0.operationName == "push" }?.status?.code == .error)
    #expect(spans.first { $0.operationName == "greet" }?.status == nil)
    #expect(spans.first { $0.operationName == "store write" }?.errors.isEmpty == false)
  }
}
#endif
