#if JWTs
import Foundation
import Hummingbird
import Logging
import Synchronization
import TernCore
import Testing

@testable import TernServer

@Suite("Access: the keys of JSON Web Tokens", .timeLimit(.minutes(1)))
struct JWTKeyTests {
  /// A set that a test changes, and how often it was read.
  private final class Published: Sendable {
    struct State {
      var bytes: [UInt8]?
      var reads = 0
      var time = Duration.zero
    }
    let state: Mutex<State>
    private let start = ContinuousClock.now

    init(_ bytes: [UInt8]) { state = Mutex(State(bytes: bytes)) }

    var set: JWTKeySet {
      let source = JWTKeySource(refresh: .seconds(300), pause: .seconds(30)) { [self] in
        try state.withLock { state in
          state.reads += 1
          guard let bytes = state.bytes else { throw JWTKeyError("gone") }
          return bytes
        }
      }
      return JWTKeySet(source) { [self] in start + state.withLock { $0.time } }
    }

    func pass(_ time: Duration) { state.withLock { $0.time += time } }
    var reads: Int { state.withLock { $0.reads } }
  }

  @Test("a key that isn't known is looked for at most twice a minute")
  func limited() async throws {
    let (one, two) = (try await TestIssuer("one"), try await TestIssuer("two"))
    let published = Published(try TestIssuer.set([one]))
    let set = published.set
    try await set.load()
    for number in 0..<100 { #expect(try await set.key(named: "\(number)") == nil) }
    #expect(published.reads == 1)
    let changed = try TestIssuer.set([one, two])
    published.state.withLock { $0.bytes = changed }
    published.pass(.seconds(30))
    #expect(try await set.key(named: "two")?.id == "two")
    for number in 0..<100 { #expect(try await set.key(named: "\(number)") == nil) }
    #expect(published.reads == 2)
  }

  @Test("keys are read again now and then, and one that is gone is not used")
  func refreshed() async throws {
    let (one, two) = (try await TestIssuer("one"), try await TestIssuer("two"))
    let published = Published(try TestIssuer.set([one]))
    let set = published.set
    try await set.load()
    let changed = try TestIssuer.set([two])
    published.state.withLock { $0.bytes = changed }
    published.pass(.seconds(299))
    #expect(try await set.key(named: "one") != nil)
    published.pass(.seconds(1))
    #expect(try await set.key(named: "one") == nil)
    #expect(try await set.key(named: nil)?.id == "two")
  }

  @Test("keys that can't be read again are used for a day, and then nobody is let in")
  func stale() async throws {
    let published = Published(try TestIssuer.set([await TestIssuer("one")]))
    let set = published.set
    try await set.load()
    published.state.withLock { $0.bytes = nil }
    published.pass(.seconds(86_399))
    #expect(try await set.key(named: "one") != nil)
    published.pass(.seconds(1))
    let error = await #expect(throws: RemoteError.self) { try await set.key(named: "one") }
    #expect(error?.code == .unavailable)
  }

  @Test("what is no set of public keys is refused at the start, and says why")
  func refused() async throws {
    let one = try await TestIssuer("one")
    var (secret, nameless) = (one.entry, one.entry)
    (secret["d"], nameless["kid"]) = ("AAAA", nil)
    let weak: [String: Any] = [
      "kty": "RSA", "alg": "RS256", "kid": "r", "e": "AQAB",
      "n": String(repeating: "A", count: 171),
    ]
    let symmetric: [String: Any] = ["kty": "oct", "alg": "HS256", "kid": "s", "k": "AAAA"]
    let encrypting = one.entry.merging(["use": "enc"]) { $1 }
    let mismatched = one.entry.merging(["alg": "ES384"]) { $1 }
    let cases: [([UInt8], String)] = [
      (Array("-----BEGIN".utf8), "no JSON Web Key Set"), (Array("{}".utf8), "no JSON Web Key Set"),
      (try TestIssuer.set([]), "no key to verify with"),
      (try TestIssuer.set([], [weak]), "no key to verify with"),
      (try TestIssuer.set([], [symmetric]), "no key to verify with"),
      (try TestIssuer.set([], [encrypting]), "no key to verify with"),
      (try TestIssuer.set([], [mismatched]), "no key to verify with"),
      (try TestIssuer.set([], [secret]), "private key"), (try TestIssuer.set([one, one]), "'kid'"),
      (try TestIssuer.set([one], [nameless]), "'kid'"),
    ]
    for (bytes, told) in cases {
      let error = await #expect(throws: JWTKeyError.self) { try await JWTKey.all(in: bytes) }
      #expect(error?.message.contains(told) == true, "\(error?.message ?? "it was taken"): \(told)")
    }
    // Beside one that is good they are left out, and alone a key needs no name.
    let mixed = try await JWTKey.all(in: TestIssuer.set([one], [weak, symmetric, encrypting]))
    #expect(mixed.map(\.id) == ["one"] && mixed[0].algorithm == "ES256")
    #expect(try await JWTKey.all(in: TestIssuer.set([], [nameless])).map(\.id) == [nil])
  }

  @Test("a set is read from a URL, which has to be https elsewhere, and is not followed")
  func url() async throws {
    for address in ["http://id.example.org/keys", "file:///etc/passwd", "ftp://127.0.0.1/keys"] {
      #expect(throws: JWTKeyError.self) { try JWTKeySource.url(#require(URL(string: address))) }
    }
    _ = try JWTKeySource.url(#require(URL(string: "https://id.example.org/keys")))
    let text = String(decoding: try TestIssuer.set([await TestIssuer("one")]), as: UTF8.self)
    let router = Router()
    router.get("keys") { _, _ in text }
    router.get("moved") { _, _ in Response.redirect(to: "/keys") }
    let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
    let application = Application(
      router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
      onServerRunning: { channel in
        continuation.yield(channel.localAddress?.port ?? 0)
        continuation.finish()
      }, logger: Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() })
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await application.run() }
      for await port in ports {
        let base = "http://127.0.0.1:\(port)/"
        let set = JWTKeySet(try .url(#require(URL(string: base + "keys"))))
        try await set.load()
        #expect(try await set.key(named: "one") != nil)
        for path in ["moved", "absent"] {
          let other = JWTKeySet(try .url(#require(URL(string: base + path))))
          await #expect(throws: JWTKeyError.self) { try await other.load() }
        }
      }
      group.cancelAll()
      // Its end by cancellation is no failure.
      while case .some = await group.nextResult() {}
    }
  }
}
#endif
