#if Server
import TernCore
import TernServer
import Testing

@Suite("Service: limits, on every store")
struct LimitTests {
  @Test("one operation more than a push may have is refused", arguments: StoreKind.allCases)
  func batchOperations(kind: StoreKind) throws {
    let service = try kind.open().service { $0.batchOperations = 2 }
    var ada = Author(1)
    let operations = ada.write(count: 3)
    let error = refusal { _ = try service.push(operations, to: .home) }
    #expect(error?.code == .tooLarge)
    #expect(error?.message.contains("batchOperations") == true)
    #expect(try service.push(Array(operations.prefix(2)), to: .home).accepted == 2)
  }

  @Test(
    "one space more than a store may have is refused, and the others go on",
    arguments: StoreKind.allCases)
  func spaces(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service { $0.spaces = 1 }
    var (ada, bob) = (Author(1), Author(2))
    _ = try service.push([ada.write()], to: .home)
    let error = refusal { _ = try service.push([bob.write()], to: .work) }
    #expect(error?.code == .tooManySpaces)
    #expect(error?.message.contains("spaces") == true)
    var generator = SeededGenerator(state: 3)
    #expect(
      refusal { _ = try service.createToken(for: .work, using: &generator) }?.code
        == .tooManySpaces)
    #expect(try test.store.tokens().isEmpty)
    #expect(try service.push([ada.write()], to: .home).position == 2)
  }

  @Test("a space's name has 64 bytes and no more")
  func nameBytes() throws {
    #expect(try SpaceName(String(repeating: "a", count: 64)).text.count == 64)
    let error = refusal { _ = try SpaceName(String(repeating: "a", count: 65)) }
    #expect(error?.code == .tooLarge)
    #expect(error?.message.contains("spaceNameBytes") == true)
  }

  @Test(
    "a space's name has only characters that a path carries", arguments: ["A-z_0.9", "-", "a."])
  func allowedNames(name: String) throws {
    #expect(try SpaceName(name).text == name)
  }

  @Test(
    "other names are malformed",
    arguments: ["", ".", "..", ".a", "a b", "a/b", "a%62", "é", "a\u{0}", "a:b", "a+b"])
  func refusedNames(name: String) {
    #expect(refusal { _ = try SpaceName(name) }?.code == .malformed)
  }

  @Test("one event stream more than a space may have is refused until one ends")
  func streams() async throws {
    let service = try StoreKind.memory.open().service { $0.streamsPerSpace = 1 }
    var stream: AsyncStream<SpaceHead>? = try service.heads(of: .home)
    let error = refusal { _ = try service.heads(of: .home) }
    #expect(error?.code == .unavailable)
    #expect(error?.retryAfter == .seconds(30))
    #expect(error?.message.contains("streamsPerSpace") == true)
    _ = try service.heads(of: .work)
    _ = stream
    stream = nil
    _ = try service.heads(of: .home)
  }
}
#endif
