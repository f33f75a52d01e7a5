#if Server
import HTTPTypes
import Testing

@testable import TernPages

/// Whom the server of a page answers. `script/pages` tries the same from another site.
struct PageGuardTests {
  private static let token: PageToken = {
    var generator = Counting()
    return PageToken(using: &generator)
  }()

  private struct Counting: RandomNumberGenerator {
    var number: UInt64 = 7
    mutating func next() -> UInt64 {
      number = number &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return number
    }
  }

  /// The status with which a request is refused, or `nil`.
  private func refusal(
    _ host: String?, port: Int = 8123, _ fields: [(String, String)] = []
  ) -> Int? {
    var request = HTTPRequest(method: .get, scheme: "http", authority: host, path: "/api/overview")
    for (name, value) in fields { request.headerFields[HTTPField.Name(name)!] = value }
    let guarding = PageGuard(token: Self.token, port: port)
    do {
      try guarding.checkPlace(request)
      try guarding.checkReader(request)
      return nil
    } catch {
      return error.status.code
    }
  }

  private var bearer: (String, String) { ("Authorization", "Bearer \(Self.token.text)") }

  @Test(arguments: ["127.0.0.1:8123", "localhost:8123"])
  func `whoever has the token is answered, at this machine's names`(_ host: String) {
    #expect(refusal(host, [bearer]) == nil)
    #expect(refusal(host, [bearer, ("Origin", "http://\(host)")]) == nil)
    #expect(refusal(host, [bearer, ("Sec-Fetch-Site", "same-origin")]) == nil)
  }

  @Test(arguments: [
    nil, "", "stranger.test:8123", "127.0.0.1", "127.0.0.1:8124", "127.0.0.1:8123.stranger.test",
    "LOCALHOST:8123", "[::1]:8123", "0.0.0.0:8123",
  ])
  func `no other host is, with the token too`(_ host: String?) {
    #expect(refusal(host, [bearer]) == 421)
  }

  @Test func `at the default port a browser names none`() {
    #expect(refusal("localhost", port: 80, [bearer]) == nil)
  }

  @Test(arguments: [
    "http://stranger.test", "null", "http://127.0.0.1:8124", "https://127.0.0.1:8123",
    "http://localhost:8123", "",
  ])
  func `no other origin is`(_ origin: String) {
    #expect(refusal("127.0.0.1:8123", [bearer, ("Origin", origin)]) == 403)
  }

  @Test(arguments: ["cross-site", "same-site"])
  func `nor what a browser says comes from elsewhere`(_ site: String) {
    #expect(refusal("127.0.0.1:8123", [bearer, ("Sec-Fetch-Site", site)]) == 403)
  }

  @Test func `nobody is without the whole token, in its header`() {
    let token = Self.token.text
    for given in [
      nil, "", token, "Bearer ", "Bearer \(token.dropLast())", "Bearer \(token)0",
      "bearer \(token)", "Bearer \(String(token.reversed()))",
    ] {
      let fields = given.map { [("Authorization", $0)] } ?? []
      #expect(refusal("127.0.0.1:8123", fields) == 401, "\(given ?? "no header")")
    }
    #expect(refusal("127.0.0.1:8123", [("Cookie", "token=\(token)")]) == 401)
  }

  @Test func `a token has 256 bits, and another one each time`() {
    var generator = Counting(number: 1)
    let tokens = (0..<100).map { _ in PageToken(using: &generator).text }
    #expect(Set(tokens).count == 100)
    #expect(tokens.allSatisfy { $0.count == 64 && $0.allSatisfy(\.isHexDigit) })
  }

  @Test(arguments: [
    ("Sources/CTernPages", ["kit.c", "inspect.c", "dashboard.c"], 11),
    // The kit's are reached by a link.
    ("Examples/Scan/Page", ["pages.c"], 14),
    ("Examples/Translate/Page", ["pages.c"], 16),
  ])
  func `a page has no markup of data, no inline code, and nothing from elsewhere`(
    _ folder: String, _ sources: [String], _ files: Int
  ) throws {
    let embedded = try sources.map { try Repository.text("\(folder)/\($0)") }.joined()
    let forbidden = [
      "html": ["<style", "style=", "onclick", "<script>", "//"],
      "css": ["@import", "url("],
      "js": ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "://"],
    ]
    var count = 0
    for (kind, words) in forbidden {
      for path in Repository.files(folder, withExtension: kind) {
        count += 1
        let text = try Repository.text(path)
        for word in words { #expect(!text.contains(word), "\(path) has \(word)") }
        let name = path.dropFirst(folder.count + 1)
        #expect(embedded.contains("#embed \"\(name)\""), "\(path) is not embedded")
      }
    }
    #expect(count == files)
  }
}
#endif
