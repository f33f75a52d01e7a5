import Tern

extension SnapshotOffer {
  /// The parts, of which there are at least two, of a snapshot that has no rows and what else is
  /// offered: the right one where nobody wrote what can be read.
  package func partsWithoutRows() throws -> [[UInt8]] {
    let authors = heads.map {
      SnapshotHeading.Author(id: $0.key, sequence: $0.value.sequence, time: $0.value.time)
    }
    var heading = ByteWriter()
    heading.append(byte: SnapshotPart.Kind.heading.rawValue)
    SnapshotHeading(schemaVersion: schema?.version ?? 1, authors: authors).append(to: &heading)
    let seen = [SnapshotPart.Kind.seen.rawValue]
    let contents =
      [heading.bytes] + Array(repeating: seen, count: max(0, parts - 2))
      + [[SnapshotPart.Kind.end.rawValue, 0]]
    return try contents.map { try SnapshotPart.encoded($0) }
  }
}
