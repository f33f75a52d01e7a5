import Foundation
import Testing

@testable import TernNetwork

@Suite("Message: a request that can't be sent as it stands is refused before anything is sent")
struct RequestValidationTests {
  @Test(
    "URLs", arguments: ["", "/path", "ftp://a/", "file:///etc/passwd", "http://", "http://u:p@a/"])
  func urls(url: String) {
    #expect(throws: HTTPError.self) { _ = try HTTPRequest(.get, url).validated() }
  }

  @Test("a URL is asked for as its text is")
  func url() throws {
    let url = try #require(URL(string: "https://example.org/a?b=c"))
    #expect(HTTPRequest(.get, url).url == HTTPRequest(.get, "https://example.org/a?b=c").url)
    let probe = ServerProbe(url, status: 204, timeout: .seconds(1)).request
    #expect(probe.url == url.absoluteString && probe.timeout == .seconds(1))
    #expect(probe.needsNewConnection)
  }

  @Test("a body of a type brings it along, unless the request says another")
  func types() throws {
    var request = try HTTPRequest(.post, "https://example.org/", body: .json(["a": 1]))
    #expect(request.body == .bytes(Array(#"{"a":1}"#.utf8), type: "application/json"))
    #expect(request.sentHeaders["Content-Type"] == "application/json")
    request.headers["content-type"] = "application/merge-patch+json"
    #expect(request.sentHeaders.values("Content-Type") == ["application/merge-patch+json"])
    let data = HTTPRequest.Body.data(Data([1, 2]))
    #expect(data == .bytes([1, 2]))
    #expect(HTTPRequest(.post, "https://example.org/", body: data).sentHeaders.fields.isEmpty)
    #expect(throws: EncodingError.self) { try HTTPRequest.Body.json(Double.nan) }
    let injected = HTTPRequest(.put, "https://a/", body: .data(Data(), type: "a\r\nX-B: 1"))
    #expect(throws: HTTPError.self) { try injected.validated() }
  }

  @Test(
    "header fields",
    arguments: [
      ("Authorization", "Bearer a\r\nX-Injected: 1"), ("A\r\nB", "c"), ("", "c"), ("A", "\u{0}"),
      ("Content-Length", "5"), ("transfer-encoding", "chunked"), ("A B", "c"),
    ])
  func fields(name: String, value: String) {
    let headers = HTTPHeaders([.init(name: name, value: value)])
    #expect(throws: HTTPError.self) {
      _ = try HTTPRequest(.get, "http://a/", headers: headers).validated()
    }
  }

  @Test("an origin is scheme, host and port and nothing else")
  func origin() throws {
    #expect(
      try "\(HTTPOrigin(of: "HTTP://Example.ORG/secret?secret#secret"))" == "http://example.org:80")
    #expect(try "\(HTTPOrigin(of: "https://[::1]:8443/"))" == "https://[::1]:8443")
    #expect(try HTTPOrigin(of: "http://[::1]/").isLoopback)
    #expect(try HTTPOrigin(of: "http://127.0.0.1:8080/").isLoopback)
    #expect(try !HTTPOrigin(of: "http://127.example.org/").isLoopback)
  }

  @Test("names of header fields compare without case and keep their order")
  func headers() {
    var headers: HTTPHeaders = ["A": "1", "b": "2", "a": "3"]
    #expect(headers["a"] == "1")
    #expect(headers.values("A") == ["1", "3"])
    headers["a"] = "4"
    #expect(headers == ["A": "4", "b": "2"])
    headers["B"] = nil
    #expect(headers == ["A": "4"])
  }

  @Test("neither a request nor its header fields show a secret when they are printed")
  func descriptions() {
    let request = HTTPRequest(
      .get, "http://a/secret", headers: ["Authorization": "secret"], body: .bytes([1]))
    #expect("\(request)" == "GET http://a:80")
    #expect("\(request.headers) \(request.headers.fields)" == "Authorization [Authorization]")
    #expect(!String(reflecting: request).contains("secret"))
  }
}
