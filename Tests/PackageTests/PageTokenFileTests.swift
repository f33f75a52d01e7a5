#if Server
import Foundation
import Testing

@testable import TernPages

/// The file that keeps the token of a page from one start of its program to the next.
struct PageTokenFileTests {
  private func withFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "tern-token-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder.appending(path: "a.sqlite").path)
  }

  private func token(beside database: String) throws -> String {
    var generator = SystemRandomNumberGenerator()
    return try PageTokenFile(beside: database).token(using: &generator).text
  }

  @Test func `the next start has the same token, and only its owner can read it`() throws {
    try withFolder { database in
      let first = try token(beside: database)
      #expect(try token(beside: database) == first)
      var status = stat()
      #expect(stat(database + ".page-token", &status) == 0 && status.st_mode & 0o777 == 0o600)
      let names = try FileManager.default.contentsOfDirectory(
        atPath: URL(filePath: database).deletingLastPathComponent().path)
      #expect(names == ["a.sqlite.page-token"])
    }
  }

  @Test(arguments: [
    "", "abc", String(repeating: "g", count: 64), String(repeating: "a", count: 65),
  ])
  func `what is no token is replaced`(_ text: String) throws {
    try withFolder { database in
      let first = try token(beside: database)
      try Data(text.utf8).write(to: URL(filePath: database + ".page-token"))
      let second = try token(beside: database)
      #expect(second != first && second != text && second.utf8.count == 64)
      #expect(try token(beside: database) == second)
    }
  }

  @Test func `what others could read, or a link leads to, is replaced`() throws {
    try withFolder { database in
      let path = database + ".page-token"
      let first = try token(beside: database)
      #expect(chmod(path, 0o640) == 0)
      let second = try token(beside: database)
      #expect(second != first)
      #expect(rename(path, path + ".moved") == 0 && symlink(path + ".moved", path) == 0)
      #expect(try token(beside: database) != second)
      // The file that the link led to is as it was.
      #expect(try String(contentsOfFile: path + ".moved", encoding: .utf8) == second + "\n")
    }
  }

  @Test func `where it can't be kept, the error says where and what to do`() throws {
    let error = #expect(throws: PageTokenError.self) { try token(beside: "/no such folder/a") }
    let said = try #require(error?.description)
    #expect(said.contains("/no such folder/a.page-token") && said.contains("make the folder"))
  }
}
#endif
