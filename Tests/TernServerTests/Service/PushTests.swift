#if Server
import TernCore
import TernServer
import Testing

@Suite("Service: push, on every store")
struct PushTests {
  @Test(
    "operations get contiguous positions in the order of their arrival",
    arguments: StoreKind.allCases)
  func positions(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service()
    var (ada, bob) = (Author(1), Author(2))
    let first = ada.write(count: 2)
    let second = bob.write(count: 1) + ada.write(count: 1)
    #expect(try service.push(first, to: .home).position == 2)
    let receipt = try service.push(second, to: .home)
    #expect(receipt == PushReceipt(now: test.clock.date, position: 4, accepted: 2))
    #expect(try everything(service) == first + second)
    let heads = try service.greet(.home).heads
    #expect(heads == VersionVector([ada.replica: 3, bob.replica: 1]))
  }

  @Test("a repeat is acknowledged and not stored again", arguments: StoreKind.allCases)
  func repeats(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service()
    var ada = Author(1)
    let old = ada.write(count: 3)
    _ = try service.push(old, to: .home)
    let new = ada.write("new")
    let receipt = try service.push(old + [new, new], to: .home)
    #expect(receipt.accepted == 1)
    #expect(receipt.position == 4)
    #expect(try everything(service) == old + [new])
  }

  @Test("other content under a stored number is a conflict", arguments: StoreKind.allCases)
  func conflict(kind: StoreKind) throws {
    let service = try kind.open().service()
    var (original, copy) = (Author(1), Author(1))
    _ = try service.push([original.write("one"), original.write("two")], to: .home)
    let error = refusal { _ = try service.push([copy.write("other")], to: .home) }
    #expect(error?.code == .sequenceConflict)
    #expect(error?.replica == original.replica)
    #expect(error?.sequence == 1)
  }

  @Test("two contents under one number in one push are a conflict", arguments: StoreKind.allCases)
  func conflictInside(kind: StoreKind) throws {
    let service = try kind.open().service()
    var (original, copy) = (Author(1), Author(1))
    let both = [original.write("one"), copy.write("other")]
    #expect(refusal { _ = try service.push(both, to: .home) }?.code == .sequenceConflict)
    #expect(try service.greet(.home).position == 0)
  }

  @Test(
    "a skipped number is a gap, and nothing of the push is stored", arguments: StoreKind.allCases)
  func gap(kind: StoreKind) throws {
    let service = try kind.open().service()
    var (ada, bob) = (Author(1), Author(2))
    var operations = bob.write(count: 1) + ada.write(count: 3)
    operations.remove(at: 2)
    let error = refusal { _ = try service.push(operations, to: .home) }
    #expect(error?.code == .sequenceGap)
    #expect(error?.sequence == 3)
    #expect(error?.replica == ada.replica)
    #expect(try service.greet(.home).position == 0)
    #expect(try service.greet(.home).heads == VersionVector())
  }

  @Test(
    "a time five minutes ahead is accepted, a millisecond more is not",
    arguments: StoreKind.allCases)
  func ahead(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service()
    var ada = Author(1)
    let limit = test.clock.now + 300_000
    let fits = ada.write(at: limit)
    #expect(try service.push([fits], to: .home).accepted == 1)
    let over = ada.write(at: limit + 1)
    let error = refusal { _ = try service.push([over], to: .home) }
    #expect(error?.code == .timeAhead)
    #expect(error?.now == test.clock.date)
    #expect(error?.sequence == 2)
    test.clock.now += 1
    #expect(try service.push([over], to: .home).accepted == 1)
  }

  @Test(
    "a repeat is acknowledged though the server's clock went back", arguments: StoreKind.allCases)
  func clockBack(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service()
    var ada = Author(1)
    let operation = ada.write()
    _ = try service.push([operation], to: .home)
    test.clock.now = 0
    #expect(try service.push([operation], to: .home).accepted == 0)
  }

  @Test("an author's times must increase", arguments: StoreKind.allCases)
  func times(kind: StoreKind) throws {
    let service = try kind.open().service()
    var ada = Author(1)
    _ = try service.push([ada.write()], to: .home)
    let same = ada.fragment()
    let error = refusal { _ = try service.push([same], to: .home) }
    #expect(error?.code == .timeNotIncreasing)
    #expect(error?.sequence == 2)
  }

  @Test("fragments of one group share their time, over pushes too", arguments: StoreKind.allCases)
  func fragments(kind: StoreKind) throws {
    let service = try kind.open().service()
    var ada = Author(1)
    _ = try service.push([ada.write(continues: true), ada.fragment(continues: true)], to: .home)
    #expect(try service.push([ada.fragment()], to: .home).position == 3)
    let after = ada.fragment()
    #expect(
      refusal { _ = try service.push([after], to: .home) }?.code == .timeNotIncreasing)
  }

  @Test("spaces don't see each other", arguments: StoreKind.allCases)
  func spaces(kind: StoreKind) throws {
    let service = try kind.open().service()
    var (ada, bob) = (Author(1), Author(2))
    let (home, work) = (ada.write(count: 2), bob.write(count: 1))
    _ = try service.push(home, to: .home)
    _ = try service.push(work, to: .work)
    #expect(try everything(service, .home) == home)
    #expect(try everything(service, .work) == work)
    #expect(try service.greet(.work).heads == VersionVector([bob.replica: 1]))
  }

  @Test("an empty push is acknowledged and makes no space", arguments: StoreKind.allCases)
  func empty(kind: StoreKind) throws {
    let service = try kind.open().service { $0.spaces = 0 }
    #expect(try service.push([], to: .home).position == 0)
  }
}
#endif
