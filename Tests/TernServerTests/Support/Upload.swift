#if Server
import TernCore
import TernServer
import TernTesting

extension SnapshotHead {
  init(_ author: Author) { self.init(sequence: author.sequence, time: author.time) }
}

extension SnapshotOffer {
  /// Everything that `authors` have written up to now.
  init(
    _ key: String = "k", at cursor: RemoteCursor?, of authors: [Author], parts: Int = 2,
    isBase: Bool = false, version: UInt32? = nil
  ) {
    let heads = authors.map { ($0.replica, SnapshotHead($0)) }
    self.init(
      key: key, parts: parts, cursor: cursor, heads: Dictionary(uniqueKeysWithValues: heads),
      isBase: isBase, schema: version.map { SnapshotSchema(version: $0) })
  }
}

extension SnapshotOffer {
  /// The same of about so many bytes: all but the first and the last part say what authors had seen,
  /// over and over, in numbers that nothing shortens.
  func parts(ofAbout bytes: Int) throws -> [[UInt8]] {
    var parts = try partsWithoutRows()
    var generator = SeededGenerator(state: 5)
    for index in parts.indices.dropFirst().dropLast() {
      var content = ByteWriter()
      content.append(byte: SnapshotPart.Kind.seen.rawValue)
      while content.count < bytes - 40 {
        content.append(raw: [0, 0])
        content.append(
          varint: UInt64.random(in: 1...VersionVector.maximumSequence, using: &generator))
      }
      parts[index] = try SnapshotPart.encoded(content.bytes)
    }
    return parts
  }
}

extension SpaceService {
  /// The cursor at the space's end, as a reader without a lease has it.
  func end(of space: SpaceName = .home) throws -> RemoteCursor {
    var cursor: RemoteCursor?
    while true {
      let page = try pull(from: space, after: cursor ?? greet(space).snapshot?.cursor)
      cursor = page.cursor
      if !page.hasMore { return page.cursor }
    }
  }

  /// Offers, puts the parts that are missing, and completes.
  @discardableResult
  func upload(_ offer: SnapshotOffer, to space: SpaceName = .home) throws -> String {
    let upload = try beginSnapshot(offer, in: space)
    for index in upload.missing {
      try putSnapshotPart(
        offer.partsWithoutRows()[index], index: index, of: upload.id, in: space)
    }
    try completeSnapshot(upload.id, in: space)
    return upload.id
  }

  /// What the offer is refused with, at its beginning.
  func refusalOf(_ offer: SnapshotOffer) -> RemoteError.Code? {
    refusal { _ = try beginSnapshot(offer, in: .home) }?.code
  }
}

/// Maintains until there is nothing more to do; how many calls it took.
@discardableResult
func maintain(_ service: SpaceService, _ space: SpaceName = .home) throws -> Int {
  var calls = 1
  while try service.maintain(space) { calls += 1 }
  return calls
}
#endif
