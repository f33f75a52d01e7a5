import Foundation

/// A file for as long as something is made of it.
package enum TemporaryFile {
  /// - Parameter ending: of its name. The file is empty, and nobody else can read it.
  package static func with<Result>(
    _ ending: String, _ body: (URL) async throws -> Result
  ) async rethrows -> Result {
    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).\(ending)")
    PrivateFile.make(file.path)
    // Somebody may have removed it.
    defer { try? FileManager.default.removeItem(at: file) }
    return try await body(file)
  }
}
