import Foundation

/// Runs `body` with the path of a new folder, which is removed afterwards.
package func withTemporaryFolder<Result>(_ body: (String) throws -> Result) throws -> Result {
  let url = try makeTemporaryFolder()
  defer { try? FileManager.default.removeItem(at: url) }
  return try body(url.path(percentEncoded: false).removingTrailingSlash)
}

/// The same for what takes its time.
package func inTemporaryFolder<Result>(_ body: (String) async throws -> Result) async throws
  -> Result
{
  let url = try makeTemporaryFolder()
  defer { try? FileManager.default.removeItem(at: url) }
  return try await body(url.path(percentEncoded: false).removingTrailingSlash)
}

private func makeTemporaryFolder() throws -> URL {
  let url = FileManager.default.temporaryDirectory.appending(
    component: "tern-\(UUID().uuidString)", directoryHint: .isDirectory)
  try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  return url
}

extension String {
  fileprivate var removingTrailingSlash: String { hasSuffix("/") ? String(dropLast()) : self }
}
