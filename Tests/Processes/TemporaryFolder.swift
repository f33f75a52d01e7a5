import Foundation

/// Runs `body` with the path of a new folder, which is removed afterwards.
package func withTemporaryFolder<Result>(_ body: (String) throws -> Result) throws -> Result {
  let url = FileManager.default.temporaryDirectory.appending(
    component: "tern-\(UUID().uuidString)", directoryHint: .isDirectory)
  try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: url) }
  return try body(url.path(percentEncoded: false).removingTrailingSlash)
}

extension String {
  fileprivate var removingTrailingSlash: String { hasSuffix("/") ? String(dropLast()) : self }
}
