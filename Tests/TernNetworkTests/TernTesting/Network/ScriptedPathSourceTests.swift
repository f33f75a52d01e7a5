import TernCore
import TernTesting
import Testing

@Suite("Network: a path that a script sets", .timeLimit(.minutes(1)))
struct ScriptedPathSourceTests {
  @Test("a reader gets what is known, then every change that it waits for")
  func changes() async {
    let source = ScriptedPathSource(hasRoute: false)
    var changes = source.changes().makeAsyncIterator()
    #expect(await changes.next() == NetworkPath(hasRoute: false, generation: 0))
    source.set(hasRoute: true)
    #expect(await changes.next() == NetworkPath(hasRoute: true, generation: 1))
    source.set(hasRoute: true)
    #expect(source.path == NetworkPath(hasRoute: true, generation: 2))
    #expect(await changes.next() == source.path)
  }

  @Test("a slow reader gets the newest only, and readers do not take from each other")
  func slow() async {
    let source = ScriptedPathSource()
    var (first, second) = (
      source.changes().makeAsyncIterator(), source.changes().makeAsyncIterator()
    )
    for hasRoute in [false, true, false] { source.set(hasRoute: hasRoute) }
    #expect(await first.next() == NetworkPath(hasRoute: false, generation: 3))
    #expect(await second.next() == NetworkPath(hasRoute: false, generation: 3))
  }

  @Test("a cancelled reader's changes end, and nobody writes to them any more")
  func cancelled() async {
    let relay = PathRelay(hasRoute: true)
    let task = Task {
      var count = 0
      for await _ in relay.changes(keeping: UnknownPathSource()) {
        count += 1
        withUnsafeCurrentTask { $0?.cancel() }
      }
      return count
    }
    #expect(await task.value == 1)
    #expect(relay.readerCount == 0)
    do { _ = relay.changes(keeping: UnknownPathSource()) }
    #expect(relay.readerCount == 0)
  }

  @Test("a reader that is cancelled while it is told of a change does not hold up the change")
  func cancelledWhileTold() async {
    let source = ScriptedPathSource()
    for _ in 0..<5_000 {
      let changes = source.changes()
      // Waits, and does not only find what it was told before.
      let (waits, hasBegun) = AsyncStream.makeStream(of: Void.self)
      let reader = Task {
        for await _ in changes { hasBegun.finish() }
      }
      for await _ in waits {}
      async let change: Void = source.set(hasRoute: true)
      reader.cancel()
      await change
      await reader.value
    }
    #expect(source.path.generation == 5_000)
  }
}
