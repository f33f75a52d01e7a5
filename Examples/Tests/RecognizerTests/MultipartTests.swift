import Testing

@testable import RecognizerKit

struct MultipartTests {
  private func parts(_ body: String, limit: Int = 3) throws -> [String] {
    try Multipart.parts(of: Array(body.utf8), boundary: "b", limit: limit)
      .map { "\($0.name)=\(String(decoding: $0.content, as: UTF8.self))" }
  }
  private func part(_ name: String, _ content: String) -> String {
    "--b\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(content)\r\n"
  }

  @Test func `parts are taken apart, whatever is in them`() throws {
    #expect(try parts(part("x", "one") + part("y", "") + "--b--") == ["x=one", "y="])
    #expect(
      try parts(part("x", "--b is\r\n-- no\r\n edge") + "--b--") == ["x=--b is\r\n-- no\r\n edge"])
  }

  @Test(arguments: [
    "", "--b", "--b\r\n", "--b\r\n\r\nx\r\n--b--", "nothing", "--b\r\nA: b\r\n\r\n",
  ])
  func `what is no form is refused`(_ body: String) {
    #expect(throws: Problem.self) { try parts(body) }
  }

  @Test func `a cut form and too many parts are refused`() {
    let whole = part("x", "one") + part("y", "two")
    #expect(throws: Problem.self) { try parts(whole) }
    #expect(throws: Problem.self) { try parts(whole + "--b--", limit: 1) }
  }

  @Test func `the boundary is found in each of its forms`() {
    #expect(Multipart.boundary("multipart/form-data; boundary=abc") == "abc")
    #expect(Multipart.boundary("Multipart/Form-Data; charset=x; Boundary=\"a b\"") == "a b")
    #expect(Multipart.boundary("multipart/form-data") == nil)
    #expect(Multipart.boundary("text/plain; boundary=abc") == nil)
    #expect(Multipart.boundary(nil) == nil)
  }
}
