import Foundation
import FuzzKit
import Testing

/// Every input that `script/fuzz` began with or once found, through the same checks without it.
@Suite struct FuzzCorpusTests {
  private static let corpus = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Fuzz/Corpus")

  static let names = FuzzTarget.all.map(\.name)

  private func target(_ name: String) throws -> FuzzTarget {
    try #require(FuzzTarget.all.first { $0.name == name })
  }

  private func files(_ name: String) throws -> [URL] {
    try FileManager.default.contentsOfDirectory(
      at: Self.corpus.appending(path: name), includingPropertiesForKeys: nil
    ).sorted { $0.lastPathComponent < $1.lastPathComponent }
  }

  @Test(arguments: names)
  func `the corpus holds`(_ name: String) throws {
    let target = try target(name)
    var taken = 0
    for file in try files(name) {
      let bytes = [UInt8](try Data(contentsOf: file))
      #expect(throws: Never.self, "\(name)/\(file.lastPathComponent)") {
        if try target.run(bytes) == .taken { taken += 1 }
      }
    }
    #expect(taken > 0)
  }

  @Test(arguments: names)
  func `honest input is taken`(_ name: String) throws {
    let target = try target(name)
    let outcomes = try target.samples().map { try target.run($0) }
    #expect(outcomes.contains(.taken))
  }

  @Test func `no target lacks a corpus, and no corpus a target`() throws {
    let folders = try FileManager.default.contentsOfDirectory(atPath: Self.corpus.path)
    #expect(folders.sorted() == Self.names.sorted())
  }
}
