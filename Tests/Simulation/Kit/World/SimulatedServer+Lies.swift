#if Server && Rehearsal
import SeededRandom
import Tern
import TernCore
import TernServer

extension SimulatedServer {
  /// Offers what a snapshot that is all there holds, less one row, as a member that lies would, and
  /// sees it refused.
  func lie(about offer: SnapshotOffer, _ id: String, in space: SpaceName) throws {
    // Of a base, the server may not know the row.
    if offer.isBase { return }
    try giveBase(beside: offer, in: space)
    let parts = (0..<offer.parts).compactMap {
      store.snapshotPart($0, of: id, in: space, isWhole: false)
    }
    guard parts.count == offer.parts, let lie = try parts.withoutRow(using: &lies) else {
      return
    }
    var forged = offer
    forged.key = "lie"
    let upload: SnapshotUpload
    do {
      upload = try service.beginSnapshot(forged, in: space)
    } catch is RemoteError {
      return
    }
    for index in upload.missing {
      try service.putSnapshotPart(lie[index], index: index, of: upload.id, in: space)
    }
    do {
      _ = try service.completeSnapshot(upload.id, in: space)
      violation = violation ?? "INV-03: a snapshot that lacks a row was taken"
    } catch let error as RemoteError where error.code == .snapshotRefused {
      trace.saw(.lieRefused)
    } catch let error as RemoteError where error.code == .snapshotUnknown {
      // It gave way to another upload.
    }
    try store.update(space) { try $0.drop(upload.id, keptFrom: nil) }
  }

  /// Offers the same as a base that stands for what nobody ever pushed, and sees it refused.
  private func giveBase(beside offer: SnapshotOffer, in space: SpaceName) throws {
    let hasSnapshot = store.summary(of: space).snapshot != nil
    let isAsked = try store.update(space) { try $0.deadlines.refill != nil }
    guard hasSnapshot, !isAsked else { return }
    var forged = offer
    (forged.key, forged.isBase) = ("base", true)
    forged.heads[ReplicaID(high: .max, low: 2)] = SnapshotHead(
      sequence: 1, time: HybridTime(milliseconds: Self.epochMilliseconds))
    do {
      let upload = try service.beginSnapshot(forged, in: space)
      violation = violation ?? "INV-03: a base was taken that nobody had asked for"
      try store.update(space) { try $0.drop(upload.id, keptFrom: nil) }
    } catch let error as RemoteError {
      if error.code == .refillNeeded { trace.saw(.lieRefused) }
    }
  }
}

extension [[UInt8]] {
  /// The parts of the same snapshot without one of its rows; `nil` where it has none.
  fileprivate func withoutRow(
    using generator: inout SeededGenerator
  ) throws -> [[UInt8]]? {
    var parts = self
    var rows: [(part: Int, range: Range<Int>)] = []
    var authors = 0
    for (index, part) in parts.enumerated() {
      let content = try SnapshotPart.content(of: part)
      try content.withUnsafeBytes { buffer in
        var reader = ByteReader(UnsafeRawBufferPointer(rebasing: buffer.dropFirst()))
        switch SnapshotPart.Kind(rawValue: content[0]) {
        case .heading: authors = try SnapshotHeading(&reader).authors.count
        case .rows:
          var body = BodyReader(reader)
          guard let block = try body.nextBlock() else { return }
          reader = body.rest
          var row = SnapshotRow()
          while !reader.isAtEnd {
            let start = content.count - reader.remaining
            try reader.snapshotRow(&row, of: block, authors: authors)
            rows.append((index, start..<content.count - reader.remaining))
          }
        default: break
        }
      }
    }
    guard let row = rows.randomElement(using: &generator) else { return nil }
    var content = try SnapshotPart.content(of: parts[row.part])
    content.removeSubrange(row.range)
    parts[row.part] = try SnapshotPart.encoded(content)
    var end = ByteWriter()
    end.append(byte: SnapshotPart.Kind.end.rawValue)
    end.append(varint: UInt64(rows.count - 1))
    parts[parts.count - 1] = try SnapshotPart.encoded(end.bytes)
    return parts
  }
}
#endif
