import Testing

@testable import TernNetwork

@Suite("Upload: a form of fields and files")
struct MultipartFormTests {
  private func text(_ form: MultipartForm) -> String {
    form.segments.map { segment in
      switch segment {
      case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
      case .file(let file): "<\(file.path)>"
      }
    }.joined()
  }

  @Test("is its parts between boundaries, contents untouched")
  func layout() {
    var form = MultipartForm(boundary: "b")
    form.add("title", "Dune\r\nII")
    form.add("photos[]", file: FileSegment("/a"), named: "a.jpg", type: "image/jpeg")
    form.add("photos[]", file: FileSegment("/b"), named: "b")
    form.parts.append(.init(name: "meta", content: .text("{}"), type: "application/json"))
    #expect(form.contentType == "multipart/form-data; boundary=b")
    let expected = """
      --b
      Content-Disposition: form-data; name="title"

      Dune
      II
      --b
      Content-Disposition: form-data; name="photos[]"; filename="a.jpg"
      Content-Type: image/jpeg

      </a>
      --b
      Content-Disposition: form-data; name="photos[]"; filename="b"
      Content-Type: application/octet-stream

      </b>
      --b
      Content-Disposition: form-data; name="meta"
      Content-Type: application/json

      {}
      --b--

      """.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n")
    #expect(text(form) == expected)
    #expect(text(MultipartForm(boundary: "b")) == "--b--\r\n")
  }

  @Test(
    "a name can't end its header field, whatever it holds",
    arguments: [
      ("a\"b", "a%22b"), ("a\r\nX: y", "a%0D%0AX: y"), ("a\rb\nc", "a%0Db%0Ac"),
      ("Bücher 🐦.jpg", "Bücher 🐦.jpg"), ("100%\\", "100%\\"), ("", ""), ("e\u{301}", "e\u{301}"),
    ])
  func names(name: String, escaped: String) {
    var form = MultipartForm(boundary: "b")
    form.add(name, file: FileSegment("/a"), named: name)
    let line = text(form).split(separator: "\r\n")[1]
    let wanted = "Content-Disposition: form-data; name=\"\(escaped)\"; filename=\"\(escaped)\""
    // By bytes: strings compare equal in other normal forms.
    #expect(Array(line.utf8) == Array(wanted.utf8))
  }

  @Test("the boundary comes from its generator, and is another one for every form")
  func boundaries() throws {
    struct Counter: RandomNumberGenerator {
      var value: UInt64 = 0
      mutating func next() -> UInt64 {
        value += 0x1234_5678_9ABC_DEF1
        return value
      }
    }
    var (first, second) = (Counter(), Counter())
    let boundary = MultipartForm(using: &first).boundary
    #expect(MultipartForm(using: &second).boundary == boundary)
    #expect(MultipartForm(using: &second).boundary != boundary)
    #expect(MultipartForm().boundary != MultipartForm().boundary)
    for form in [MultipartForm(), MultipartForm(using: &first)] {
      _ = try HTTPRequest(.post, "http://a/", body: .form(form)).validated()
    }
  }

  @Test(
    "a boundary that is none is refused before anything is sent",
    arguments: ["", "a b", "a\r\nX: y", "\"", "é", String(repeating: "a", count: 71)])
  func badBoundary(boundary: String) {
    let request = HTTPRequest(.post, "http://a/", body: .form(MultipartForm(boundary: boundary)))
    let error = #expect(throws: HTTPError.self) { try request.validated() }
    #expect(error?.code == .invalidHeader)
  }

  @Test("a part's type that would begin another field, and a second Content-Type, are refused")
  func badTypes() {
    var form = MultipartForm(boundary: "b")
    form.add("a", file: FileSegment("/a"), named: "a", type: "image/jpeg\r\nX: y")
    let injected = HTTPRequest(.post, "http://a/", body: .form(form))
    #expect(throws: HTTPError.self) { try injected.validated() }
    let double = HTTPRequest(
      .post, "http://a/", headers: ["content-type": "text/plain"],
      body: .form(MultipartForm(boundary: "b")))
    #expect(throws: HTTPError.self) { try double.validated() }
  }
}
