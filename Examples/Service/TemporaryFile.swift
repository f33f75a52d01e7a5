import Foundation

/// A file for as long as something is made of it.
package enum TemporaryFile {
  /// - Parameter ending: of its name. The file is not made.
  package static func with<Result>(
    _ ending: String, _ body: (URL) async throws -> Result
  ) async rethrows -> Result {
    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).\(ending)")
    // It is not there where nothing was made.
    defer { try? FileManager.default.removeItem(at: file) }
    return try await body(file)
  }
}
