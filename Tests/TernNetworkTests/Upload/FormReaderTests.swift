#if os(Linux)
import Foundation
import Synchronization
import TestProcesses
import Testing

@testable import TernNetwork

@Suite("Upload: a form as somebody else reads it", .timeLimit(.minutes(1)))
struct FormReaderTests {
  /// What Python's `email` makes of a part.
  private struct Part: Decodable {
    var fields: [String]
    var name: String
    var fileName: String?
    var type: String
    var content: String
    var defects: Int
  }

  private static let script = """
    import email, email.policy, json, sys
    with open(sys.argv[1], "rb") as file:
        form = email.message_from_bytes(file.read(), policy=email.policy.HTTP)
    assert form.get_content_type() == "multipart/form-data" and not form.defects
    print(json.dumps([{
        "fields": part.keys(), "name": part["Content-Disposition"].params["name"],
        "fileName": part.get_filename(), "type": part.get_content_type(),
        "content": part.get_payload(decode=True).hex(), "defects": len(part.defects),
    } for part in form.iter_parts()]))
    """

  private func read(_ form: [UInt8]) throws -> [Part] {
    let file = try TemporaryFile(form)
    let child = try ChildProcess(
      "/usr/bin/env", arguments: ["python3", "-c", Self.script, file.path])
    child.endInput()
    var output: [UInt8] = []
    while let bytes = child.read() { output += bytes }
    #expect(child.wait() == 0)
    return try JSONDecoder().decode([Part].self, from: Data(output))
  }

  /// The standard has no way back for the escapes: a server that knows them takes them out again.
  @Test("names with quotes, line ends and other letters, and contents byte for byte")
  func names() async throws {
    let names = [
      ("shelf.jpg", "shelf.jpg"), ("sh\"elf\r\n é.jpg", "sh%22elf%0D%0A é.jpg"),
      ("a\"; filename=\"b", "a%22; filename=%22b"), ("a\r\nX-Evil: 1", "a%0D%0AX-Evil: 1"),
      ("a\rb\nc", "a%0Db%0Ac"), ("Bücher 🐦", "Bücher 🐦"), ("e\u{301}", "e\u{301}"),
    ]
    let contents = [noise(10_000), Array("--tern\r\n\r\n--\r--tern--\n".utf8), []]
    let files = try contents.map { try TemporaryFile($0) }
    var form = MultipartForm()
    for (index, name) in names.enumerated() {
      form.add(name.0, "Dune\r\n\(name.0)")
      form.add(
        name.0, file: FileSegment(files[index % files.count].path), named: name.0,
        type: "image/jpeg")
    }
    let received = Mutex<[UInt8]>([])
    let server = try LocalServer { connection in
      while let request = connection.readRequest() {
        let type = "Content-Type: \(request.headers["content-type"] ?? "none")\r\n\r\n"
        received.withLock { $0 = Array(type.utf8) + request.body }
        connection.answer()
      }
    }
    defer { server.stop() }
    let request = HTTPRequest(.post, server.url, body: .form(form), timeout: .seconds(30))
    #expect(try await CurlTransport().send(request).status == 200)

    let parts = try read(received.withLock { $0 })
    try #require(parts.count == 2 * names.count)
    for (index, name) in names.enumerated() {
      let (field, file) = (parts[2 * index], parts[2 * index + 1])
      // By bytes: strings compare equal in other normal forms.
      #expect(Array(field.name.utf8) == Array(name.1.utf8))
      #expect(field.fields == ["Content-Disposition"] && field.fileName == nil)
      #expect(field.content == hex(Array("Dune\r\n\(name.0)".utf8)))
      #expect(Array(file.name.utf8) == Array(name.1.utf8))
      #expect(Array((file.fileName ?? "none").utf8) == Array(name.1.utf8))
      #expect(file.fields == ["Content-Disposition", "Content-Type"])
      #expect(file.type == "image/jpeg")
      #expect(file.content == hex(contents[index % contents.count]))
      #expect(field.defects == 0 && file.defects == 0)
    }
  }

  private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
#endif
