import Foundation

/// Where the files come from that a frozen format is held to.
enum FixtureOrigin: CaseIterable {
  /// The files that are kept.
  case kept
  /// What today's code makes in their place.
  case made

  /// `TERN_MAKE_FIXTURES=1`
  static let isMaking = ProcessInfo.processInfo.environment["TERN_MAKE_FIXTURES"] != nil

  /// A file that is not there fails, but for whoever makes it.
  static var all: [Self] { isMaking ? [.made] : allCases }

  /// A path beside the tests' sources.
  static func kept(_ path: String) -> URL {
    URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../Fixtures/\(path)", directoryHint: .isDirectory).standardized
  }

  /// Works on a folder that goes away afterwards: a copy of the kept one, or what is made in it.
  func withCopy(
    of kept: URL, making make: (URL) async throws -> Void,
    _ body: (URL) async throws -> Void
  ) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "tern-fixture-\(UUID().uuidString)", directoryHint: .isDirectory)
    defer { try? FileManager.default.removeItem(at: folder) }
    switch self {
    case .kept: try FileManager.default.copyItem(at: kept, to: folder)
    case .made:
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try await make(folder)
    }
    try await body(folder)
  }
}
