#if Server
import Foundation
import TernCore
import TernServer
import Testing

@Suite("Service: tokens, on every store")
struct TokenTests {
  @Test("a token opens its own space and no other", arguments: StoreKind.allCases)
  func ownSpace(kind: StoreKind) throws {
    let service = try kind.open().service()
    var generator = SeededGenerator(state: 3)
    let token = try service.createToken(for: .home, using: &generator)
    try service.authorize(token, for: .home)
    #expect(refusal { try service.authorize(token, for: .work) }?.code == .forbidden)
    #expect(refusal { try service.authorize(token + "0", for: .home) }?.code == .unauthorized)
    #expect(refusal { try service.authorize(nil, for: .home) }?.code == .unauthorized)
  }

  @Test("a store keeps the digest of a token and not the token", arguments: StoreKind.allCases)
  func digests(kind: StoreKind) throws {
    let test = try kind.open()
    var generator = SeededGenerator(state: 3)
    let token = try test.service().createToken(for: .home, using: &generator)
    let record = TokenRecord(
      digest: TokenDigest(token: token), space: .home, created: test.clock.date)
    #expect(try test.store.tokens() == [record])
  }

  @Test("a token opens its space until it expires", arguments: StoreKind.allCases)
  func expiry(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service()
    var generator = SeededGenerator(state: 3)
    let expires = Date(milliseconds: test.clock.now + 1000)
    let label = try TokenLabel("Anna's phone")
    let token = try service.createToken(
      for: .home, label: label, expires: expires, using: &generator)
    test.clock.now += 999
    let record = try service.authorize(token, for: .home)
    #expect((record.label, record.expires) == (label, expires))
    test.clock.now += 1
    let refused = refusal { try service.authorize(token, for: .home) }
    #expect(refused?.code == .unauthorized && refused?.message.contains("expired at") == true)
    // No more is told to whoever asks for another space.
    #expect(refusal { try service.authorize(token, for: .work) }?.code == .unauthorized)
  }

  @Test("a rotated token goes on for a time of grace", arguments: StoreKind.allCases)
  func rotation(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service()
    var generator = SeededGenerator(state: 3)
    let (anna, label) = (try MemberName("anna"), try TokenLabel("phone"))
    let old = try service.createToken(for: .home, of: anna, label: label, using: &generator)
    let expires = Date(milliseconds: test.clock.now + 9000)
    let new = try service.asOperator.rotateToken(
      TokenDigest(token: old), grace: .seconds(5), expires: expires, using: &generator)
    let record = try service.authorize(new, for: .home)
    #expect((record.member, record.label, record.expires) == (anna, label, expires))
    try service.authorize(old, for: .home)
    // A second rotation lengthens nothing.
    test.clock.now += 4000
    _ = try service.asOperator.rotateToken(
      TokenDigest(token: old), grace: .seconds(5), using: &generator)
    test.clock.now += 1000
    #expect(refusal { try service.authorize(old, for: .home) }?.code == .unauthorized)
    try service.authorize(new, for: .home)
    #expect(try service.revoke(old))
    #expect(
      refusal {
        _ = try service.asOperator.rotateToken(
          TokenDigest(token: old), grace: .zero, using: &generator)
      }?.code == .notFound)
  }

  @Test("a label is what a terminal can show", arguments: ["", " a", "a\n", "\u{1b}[1m"])
  func labels(text: String) {
    #expect(throws: RemoteError.self) { try TokenLabel(text) }
    #expect(throws: RemoteError.self) { try TokenLabel(String(repeating: "a", count: 101)) }
  }

  @Test("a revoked token opens nothing", arguments: StoreKind.allCases)
  func revoked(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service()
    var generator = SeededGenerator(state: 3)
    let token = try service.createToken(for: .home, using: &generator)
    #expect(try service.revoke(token))
    #expect(try !service.revoke(token))
    #expect(refusal { try service.authorize(token, for: .home) }?.code == .unauthorized)
  }
}
#endif
