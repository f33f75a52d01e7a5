#if PostgreSQL
import Foundation

/// A file with a database's password.
struct PasswordFile: Sendable {
  let path: String

  /// - Throws: ``StoreError`` where it can't be read, or holds none.
  func read() throws -> String {
    var text: String
    do {
      text = try String(contentsOfFile: path, encoding: .utf8)
    } catch {
      throw StoreError(
        .inaccessible,
        "the file \(path) with the database's password can't be read; check its name and rights")
    }
    while text.last?.isNewline ?? false { text.removeLast() }
    guard !text.isEmpty else {
      throw StoreError(
        .inaccessible, "the file \(path) is to hold the database's password, and is empty")
    }
    return text
  }
}
#endif
