#if Server
import TernCore
import TernServer
import Testing

@Suite("Service: heads")
struct HeadTests {
  @Test("the first position comes at once, the next with a push", arguments: StoreKind.allCases)
  func growth(kind: StoreKind) async throws {
    let service = try kind.open().service()
    var ada = Author(1)
    _ = try service.push(ada.write(count: 2), to: .home)
    var heads = try service.heads(of: .home).makeAsyncIterator()
    #expect(await heads.next()?.position == 2)
    _ = try service.push(ada.write(count: 1), to: .home)
    #expect(await heads.next()?.position == 3)
  }

  @Test("a slow reader gets only the last position")
  func coalesced() async throws {
    let service = try StoreKind.memory.open().service()
    var ada = Author(1)
    var heads = try service.heads(of: .home).makeAsyncIterator()
    for _ in 0..<5 { _ = try service.push([ada.write()], to: .home) }
    #expect(await heads.next()?.position == 5)
  }

  @Test("a repeat and another space's push are not told")
  func silence() async throws {
    let service = try StoreKind.memory.open().service()
    var (ada, bob) = (Author(1), Author(2))
    let first = ada.write()
    _ = try service.push([first], to: .home)
    var heads = try service.heads(of: .home).makeAsyncIterator()
    #expect(await heads.next()?.position == 1)
    _ = try service.push([first], to: .home)
    _ = try service.push(bob.write(count: 9), to: .work)
    _ = try service.push([ada.write()], to: .home)
    #expect(await heads.next()?.position == 2)
  }
}
#endif
