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
}
