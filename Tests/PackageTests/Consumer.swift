import Foundation
import TestProcesses

/// A package of somebody else's that depends on Tern by its path, and on nothing more.
///
/// It stands in the temporary folder under a name of this clone's, so that what it built of GRDB
/// and Tern serves the next run.
struct Consumer {
  let folder: URL
  /// What `swift build` printed.
  let log: String
  let succeeded: Bool

  /// Built once, for all tests. A task of the test's own, not of the library.
  static let built = Task { try await Consumer() }

  private init() async throws {
    let name = "tern-consumer-\(Repository.root.path.utf8.reduce(5381) { $0 &* 33 &+ Int($1) })"
    folder = FileManager.default.temporaryDirectory.appending(path: name)
    try writeSources(in: folder)
    try pinGRDB(in: folder)
    // Behind the other tests of the same run, which look at clocks.
    let build = try await run([
      "nice", "swift", "build", "--package-path", folder.path, "-debug-info-format", "none",
    ])
    (log, succeeded) = (build.output, build.code == 0)
  }

  /// Lets the compiler check the types of every snippet against the modules that these tests were
  /// built with, which takes seconds, and no package.
  ///
  /// - Returns: what the compiler printed, and its exit status.
  static func readSnippets() async throws -> (output: String, code: CInt) {
    let folder = FileManager.default.temporaryDirectory.appending(path: "tern-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    try writeSnippets(in: folder)
    // Beside this run's programs: …/debug/Modules, and two folders above them checkouts of packages.
    let products = URL(filePath: try BuiltExecutable.path("tern")).deletingLastPathComponent()
      .resolvingSymlinksInPath()
    let scratch = products.deletingLastPathComponent().deletingLastPathComponent()
    let maps =
      ["CZlib", "CCurl", "CNetlink"].map { Repository.root.appending(path: "Sources/\($0)") }
      + [
        products.appending(path: "CTernSQLite.build"),
        scratch.appending(path: "checkouts/GRDB.swift/Sources/GRDBSQLite"),
      ]
    let flags =
      maps.flatMap { ["-Xcc", "-fmodule-map-file=\($0.path)/module.modulemap"] }
      + ["-I", products.appending(path: "Modules").path, "-swift-version", "6"]
    let program = folder.appending(path: "program/main.swift").path
    let snippets = try Repository.swiftFiles(in: folder.appending(path: "Snippets"))
    let read = try await run(["swiftc", "-typecheck", program] + flags)
    guard read.code == 0 else { return read }
    return try await run(["swiftc", "-typecheck", "-parse-as-library"] + snippets + flags)
  }

  /// Runs the program of README and returns what it prints.
  func runProgram() async throws -> (output: String, code: CInt) {
    let program = folder.appending(path: ".build/debug/program").path
    return try await run([program])
  }

  /// The repositories that were cloned for this package.
  func checkouts() throws -> Set<String> {
    Set(
      try FileManager.default.contentsOfDirectory(
        atPath: folder.appending(path: ".build/checkouts").path))
  }

  /// The identities that SwiftPM resolved.
  func pins() throws -> Set<String> {
    Set(try resolved(in: folder).pins.map(\.identity))
  }
}

private func writeSources(in folder: URL) throws {
  let sources = folder.appending(path: "Sources")
  // Snippets of a former run may have other numbers now.
  if FileManager.default.fileExists(atPath: sources.path) {
    try FileManager.default.removeItem(at: sources)
  }
  let identity = Repository.root.lastPathComponent
  try write(
    """
    // swift-tools-version: 6.2
    import PackageDescription

    let tern = ["Tern", "TernJobs", "TernNetwork"].map {
      Target.Dependency.product(name: $0, package: "\(identity)")
    }
    let package = Package(
      name: "consumer", platforms: [.iOS(.v18), .macOS(.v15)],
      dependencies: [.package(path: "\(Repository.root.path)")],
      targets: [
        .executableTarget(name: "program", dependencies: tern),
        .target(name: "Snippets", dependencies: tern),
      ])

    """, to: folder.appending(path: "Package.swift"))
  try writeSnippets(in: sources)
}

/// README's program in `program`, all others in `Snippets`.
private func writeSnippets(in sources: URL) throws {
  let snippets = try Snippet.all()
  try write(snippets[0].text + "\n", to: sources.appending(path: "program/main.swift"))
  for (number, snippet) in snippets.enumerated().dropFirst() {
    try write(
      snippet.source(number: number),
      to: sources.appending(path: "Snippets/Snippet\(number).swift"))
  }
}

private func write(_ text: String, to file: URL) throws {
  try FileManager.default.createDirectory(
    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
  try Data(text.utf8).write(to: file)
}

// MARK: - Package.resolved

private struct Resolved: Codable {
  var pins: [Pin]
  var version: Int

  struct Pin: Codable {
    var identity: String
    var kind: String
    var location: String
    var state: [String: String]
  }
}

private func resolved(in folder: URL) throws -> Resolved {
  let data = try Data(contentsOf: folder.appending(path: "Package.resolved"))
  return try JSONDecoder().decode(Resolved.self, from: data)
}

/// Takes the version of GRDB that this package was built with, so that nothing need be looked up;
/// and nothing more, since a pin by itself makes SwiftPM clone.
private func pinGRDB(in folder: URL) throws {
  let file = Repository.root.appending(path: "Package.resolved")
  guard FileManager.default.fileExists(atPath: file.path) else { return }
  var own = try resolved(in: Repository.root)
  own.pins.removeAll { $0.identity != "grdb.swift" }
  try JSONEncoder().encode(own).write(to: folder.appending(path: "Package.resolved"))
}
