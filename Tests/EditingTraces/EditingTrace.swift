import CZlib
import Foundation

/// What people typed, from a public collection that lies beside the project and is no part of it.
///
/// - Source: github.com/josephg/editing-traces, CC BY.
package struct EditingTrace: Decodable, Sendable {
  /// Patches that follow one another, made by one agent who knew of what ``parents`` name.
  package struct Transaction: Decodable, Sendable {
    package var parents: [Int]?
    package var numChildren: Int?
    package var agent: Int?
    package var patches: [Patch]
  }

  /// So many scalars from a position on give way to a text.
  package struct Patch: Decodable, Sendable {
    package var position: Int
    package var removed: Int
    package var inserted: String

    package init(from decoder: any Decoder) throws {
      var values = try decoder.unkeyedContainer()
      position = try values.decode(Int.self)
      removed = try values.decode(Int.self)
      inserted = try values.decode(String.self)
    }
  }

  package var endContent: String
  package var numAgents: Int?
  package var txns: [Transaction]

  package static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "shared/data/traces")

  package static func file(_ name: String) -> URL {
    folder.appending(path: "\(name).json.gz")
  }

  package static func isPresent(_ name: String) -> Bool {
    FileManager.default.fileExists(atPath: file(name).path)
  }

  package init(_ name: String) throws {
    guard let stream = gzopen(Self.file(name).path, "rb") else {
      throw CocoaError(.fileReadNoSuchFile)
    }
    defer { gzclose(stream) }
    var content = Data()
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = gzread(stream, &piece, UInt32(piece.count))
      guard count >= 0 else { throw CocoaError(.fileReadCorruptFile) }
      if count == 0 { break }
      content.append(contentsOf: piece.prefix(Int(count)))
    }
    self = try JSONDecoder().decode(EditingTrace.self, from: content)
  }

  /// Transactions that one agent made in one go, and that nobody else built on between.
  package var bursts: [Range<Int>] {
    var bursts: [Range<Int>] = []
    for index in txns.indices {
      if index > 0, txns[index].parents == [index - 1], txns[index - 1].numChildren == 1,
        txns[index].agent == txns[index - 1].agent
      {
        bursts[bursts.count - 1] = bursts[bursts.count - 1].lowerBound..<index + 1
      } else {
        bursts.append(index..<index + 1)
      }
    }
    return bursts
  }
}
