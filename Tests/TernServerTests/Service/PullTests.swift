#if Server
import TernCore
import TernServer
import Testing

@Suite("Service: pull, on every store")
struct PullTests {
  @Test("a space that doesn't exist is empty", arguments: StoreKind.allCases)
  func absent(kind: StoreKind) throws {
    let service = try kind.open().service()
    let page = try service.pull(from: .home, after: nil)
    #expect(page.operations.isEmpty)
    #expect(!page.hasMore)
    #expect(try service.pull(from: .home, after: page.cursor) == page)
  }

  @Test("a cursor at the end stays valid and finds what comes later", arguments: StoreKind.allCases)
  func later(kind: StoreKind) throws {
    let service = try kind.open().service()
    var ada = Author(1)
    _ = try service.push(ada.write(count: 2), to: .home)
    let end = try service.pull(from: .home, after: nil)
    #expect(try service.pull(from: .home, after: end.cursor).cursor == end.cursor)
    let new = ada.write("new")
    _ = try service.push([new], to: .home)
    #expect(try service.pull(from: .home, after: end.cursor).operations == [new])
  }

  @Test("one replica's operations are left out and passed", arguments: StoreKind.allCases)
  func excluded(kind: StoreKind) throws {
    let test = try kind.open()
    var (ada, bob) = (Author(1), Author(2))
    let first = ada.write("first")
    let others = bob.write(count: 2)
    _ = try test.service().push([first] + others + [ada.write("last")], to: .home)
    for limit in [1, 100] {
      let service = test.service { $0.pageOperations = limit }
      var (cursor, received): (RemoteCursor?, [SyncOperation]) = (nil, [])
      while true {
        let page = try service.pull(from: .home, after: cursor, excluding: ada.replica)
        received += page.operations
        cursor = page.cursor
        if !page.hasMore { break }
      }
      #expect(received == others)
      #expect(cursor == (try service.pull(from: .home, after: nil).cursor) || limit == 1)
      #expect(try service.pull(from: .home, after: cursor).operations.isEmpty)
    }
  }

  @Test("a page ends before the byte that is too many", arguments: StoreKind.allCases)
  func pageBytes(kind: StoreKind) throws {
    let test = try kind.open()
    var ada = Author(1)
    let operations = ada.write(count: 3, bytes: 100)
    let size = operations[0].bytes.count
    _ = try test.service().push(operations, to: .home)
    let fits = test.service { $0.pageBytes = 2 * size }
    #expect(try fits.pull(from: .home, after: nil).operations.count == 2)
    let short = test.service { $0.pageBytes = 2 * size - 1 }
    let page = try short.pull(from: .home, after: nil)
    #expect(page.operations.count == 1)
    #expect(page.hasMore)
    #expect(try everything(short) == operations)
  }

  @Test("an operation longer than a page comes alone", arguments: StoreKind.allCases)
  func longOperation(kind: StoreKind) throws {
    let test = try kind.open()
    var ada = Author(1)
    let operations = ada.write(count: 2, bytes: 100)
    let service = test.service { $0.pageBytes = 1 }
    _ = try service.push(operations, to: .home)
    #expect(try service.pull(from: .home, after: nil).operations == [operations[0]])
    #expect(try everything(service) == operations)
  }

  @Test("a page has at most so many operations", arguments: StoreKind.allCases)
  func pageOperations(kind: StoreKind) throws {
    let test = try kind.open()
    var ada = Author(1)
    let operations = ada.write(count: 5)
    let service = test.service { $0.pageOperations = 2 }
    _ = try service.push(operations, to: .home)
    let page = try service.pull(from: .home, after: nil)
    #expect(page.operations == Array(operations.prefix(2)))
    #expect(page.hasMore)
    #expect(try everything(service) == operations)
  }

  @Test(
    "what is no cursor of this history is unknown", arguments: StoreKind.allCases,
    [
      "", "x", "1.2", "a.b.c", "EPOCH.1.0000000000000000", "EPOCH.2.", "EPOCH.0.00", "EPOCH.01.",
      "EPOCH.-1.", "EPOCH.18446744073709551615.", "00000000000000000000000000000000.0.",
    ])
  func unknown(kind: StoreKind, text: String) throws {
    let test = try kind.open()
    let service = test.service()
    var ada = Author(1)
    _ = try service.push([ada.write()], to: .home)
    let cursor = RemoteCursor(rawValue: text.replacing("EPOCH", with: test.store.epoch))
    let error = refusal { _ = try service.pull(from: .home, after: cursor) }
    #expect(error?.code == .cursorUnknown)
    #expect(error?.now == test.clock.date)
    #expect(refusal { _ = try service.heads(of: .home, after: cursor) } == error)
  }

  @Test("a wiped store doesn't know the cursors of the one before it")
  func wiped() throws {
    var generator = SeededGenerator(state: 7)
    let clock = HandClock().clock
    let before = SpaceService(store: MemorySpaceStore(using: &generator), clock: clock)
    let after = SpaceService(store: MemorySpaceStore(using: &generator), clock: clock)
    let cursor = try before.pull(from: .home, after: nil).cursor
    #expect(refusal { _ = try after.pull(from: .home, after: cursor) }?.code == .cursorUnknown)
  }

  @Test("a restored copy that went another way doesn't know the cursors of the first")
  func restored() throws {
    var generator = SeededGenerator(state: 7)
    let clock = HandClock().clock
    let store = MemorySpaceStore(using: &generator)
    let first = SpaceService(store: store, clock: clock)
    var (ada, bob) = (Author(1), Author(2))
    _ = try first.push([ada.write()], to: .home)
    let shared = try first.pull(from: .home, after: nil).cursor
    let second = SpaceService(store: MemorySpaceStore(copying: store), clock: clock)
    _ = try first.push([ada.write()], to: .home)
    let cursor = try first.pull(from: .home, after: nil).cursor
    #expect(refusal { _ = try second.pull(from: .home, after: cursor) }?.code == .cursorUnknown)
    let other = bob.write()
    _ = try second.push([other], to: .home)
    #expect(refusal { _ = try second.pull(from: .home, after: cursor) }?.code == .cursorUnknown)
    #expect(try second.pull(from: .home, after: shared).operations == [other])
  }
}
#endif
