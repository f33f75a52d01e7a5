import Foundation
import Testing

/// The package's own files, as the tests find them.
enum Repository {
  static let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  /// Paths below the package's root, of every file under `folders` that has the extension.
  static func files(_ folders: String..., withExtension pathExtension: String) -> [String] {
    folders.flatMap { folder -> [String] in
      let found = FileManager.default.enumerator(atPath: root.appending(path: folder).path)
      let names = (found?.allObjects as? [String] ?? []).filter { name in
        name.hasSuffix(".\(pathExtension)") && !name.contains(".build")
      }
      // A check of no file would find nothing wrong.
      if names.isEmpty { Issue.record("\(folder) has no .\(pathExtension)") }
      return names.map { "\(folder)/\($0)" }
    }.sorted()
  }

  /// Paths of the Swift files in a folder that need not be the package's.
  static func swiftFiles(in folder: URL) throws -> [String] {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    return names.filter { $0.hasSuffix(".swift") }.sorted().map { folder.appending(path: $0).path }
  }

  /// The Swift files of each target of `Sources`: paths below its folder, with what is in them.
  static func targets() throws -> [String: [(path: String, text: String)]] {
    var targets: [String: [(path: String, text: String)]] = [:]
    for path in files("Sources", withExtension: "swift") {
      let parts = path.split(separator: "/", maxSplits: 2).map(String.init)
      targets[parts[1], default: []].append((parts[2], try text(path)))
    }
    return targets
  }

  /// README and every page of the documentation.
  static func pages() -> [String] {
    ["README.md", "CONTRIBUTING.md"] + files("Docs", withExtension: "md")
  }
}

/// A place in a file, for a failure's text.
struct Line: CustomStringConvertible {
  let path: String
  let number: Int
  let text: String

  static func lines(of path: String) throws -> [Line] {
    try Repository.text(path).split(separator: "\n", omittingEmptySubsequences: false)
      .enumerated().map { Line(path: path, number: $0.offset + 1, text: String($0.element)) }
  }

  var description: String { "\(path):\(number): \(text.trimmingCharacters(in: .whitespaces))" }
}
