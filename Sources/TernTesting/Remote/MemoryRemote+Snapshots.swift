import Foundation
import Tern

/// A snapshot at a ``MemoryRemote``: an upload, or a whole one.
struct MemorySnapshot {
  let id: String
  let offer: SnapshotOffer
  var position: UInt64
  var cursor: RemoteCursor
  var parts: [Int: [UInt8]] = [:]
  var isComplete = false

  var missing: [Int] { (0..<offer.parts).filter { parts[$0] == nil } }
  var told: RemoteSnapshot {
    RemoteSnapshot(
      id: id, position: position, cursor: cursor, parts: offer.parts,
      heads: VersionVector(offer.heads.mapValues(\.sequence)))
  }
}

extension MemoryRemote {
  public var keepsSnapshots: Bool { true }

  /// As a server's `snapshotPartBytes`.
  static let partBytes = SnapshotPart.Limit.bytes
  /// How many uploads are waited for, and how many whole snapshots stay.
  static let kept = 2

  public func snapshotPart(_ index: Int, of id: String) async throws -> [UInt8] {
    try state.withLock { state in
      guard let snapshot = state.snapshots.first(where: { $0.id == id && $0.isComplete }),
        let bytes = snapshot.parts[index]
      else { throw RemoteError(.snapshotUnknown, "there is no such part of a snapshot") }
      return bytes
    }
  }

  public func beginSnapshot(_ offer: SnapshotOffer) async throws -> SnapshotUpload {
    try state.withLock { state in
      guard !offer.key.isEmpty, offer.parts > 0 else {
        throw RemoteError(.malformed, "a snapshot has a key and at least one part")
      }
      if let known = state.snapshots.first(where: { $0.offer == offer && $0.isComplete }) {
        return SnapshotUpload(id: known.id, missing: [])
      }
      let cursor = offer.cursor ?? state.cursor(at: 0)
      try state.check(offer, at: cursor, now: now())
      let snapshot: MemorySnapshot
      if let known = state.snapshots.firstIndex(where: { $0.offer == offer }) {
        snapshot = state.snapshots.remove(at: known)
      } else {
        state.begun += 1
        snapshot = MemorySnapshot(
          id: "\(state.epoch)-\(state.begun)", offer: offer,
          position: UInt64(try state.position(of: cursor)), cursor: cursor)
      }
      // The one that was begun or gone on with the longest ago gives way.
      while state.snapshots.count(where: { !$0.isComplete }) >= Self.kept,
        let oldest = state.snapshots.firstIndex(where: { !$0.isComplete })
      { state.snapshots.remove(at: oldest) }
      state.snapshots.append(snapshot)
      return SnapshotUpload(id: snapshot.id, missing: snapshot.missing)
    }
  }

  public func putSnapshotPart(_ bytes: [UInt8], index: Int, of id: String) async throws {
    try state.withLock { state in
      guard bytes.count <= Self.partBytes else {
        throw RemoteError(.tooLarge, "a part has at most \(Self.partBytes) bytes")
      }
      let place = try state.index(of: id)
      guard !bytes.isEmpty, (0..<state.snapshots[place].offer.parts).contains(index) else {
        throw RemoteError(.malformed, "a part is not empty, and has one of the numbers offered")
      }
      guard bytes == state.snapshots[place].parts[index, default: bytes] else {
        throw RemoteError(.snapshotConflict, "part \(index) was stored with other bytes")
      }
      state.snapshots[place].parts[index] = bytes
    }
  }

  public func completeSnapshot(_ id: String) async throws {
    let grown = try state.withLock { state -> UInt64? in
      let place = try state.index(of: id)
      let snapshot = state.snapshots[place]
      if snapshot.isComplete { return nil }
      guard snapshot.missing.isEmpty else {
        throw RemoteError(.snapshotIncomplete, "\(snapshot.missing.count) parts are missing")
      }
      try state.check(snapshot.offer, at: snapshot.cursor, now: now())
      state.complete(place)
      return snapshot.offer.isBase ? state.position : nil
    }
    if let grown { tell(grown) }
  }
}

extension MemoryRemoteState {
  func index(of id: String) throws -> Int {
    guard let place = snapshots.firstIndex(where: { $0.id == id }) else {
      throw RemoteError(.snapshotUnknown, "there is no such snapshot; greet again")
    }
    return place
  }

  /// Whether a snapshot can stand for what is up to its cursor.
  func check(_ offer: SnapshotOffer, at cursor: RemoteCursor, now: Date?) throws {
    let position = try position(of: cursor)
    let newest = whole.last?.position ?? 0
    guard offer.isBase ? position == entries.count : position > newest else {
      throw RemoteError(.snapshotSuperseded, "there is a snapshot as new, or the space grew")
    }
    for (author, head) in heads.sorted(by: { $0.key < $1.key }) {
      let offered = offer.heads[author]
      if offered?.sequence == head.sequence, offered?.time != head.time {
        throw RemoteError(.snapshotConflict, "another last operation", replica: author)
      }
      let next = (offered?.sequence ?? 0) + 1
      if next > head.sequence { continue }
      guard !offer.isBase, let place = places[author]?[next], place >= position else {
        throw RemoteError(
          .snapshotIncomplete, "the snapshot lacks operation \(next)", replica: author)
      }
    }
    let ahead = offer.heads.filter { $0.value.sequence > heads[$0.key]?.sequence ?? 0 }
    guard offer.isBase else {
      guard ahead.isEmpty else {
        throw RemoteError(.sequenceGap, "the snapshot has what was not pushed; push first")
      }
      return
    }
    guard !ahead.isEmpty else {
      throw RemoteError(.snapshotSuperseded, "the space has all that the base stands for")
    }
    for (author, head) in ahead {
      if let now, MemoryRemote.isAhead(head.time, of: now) {
        throw RemoteError(.timeAhead, "a time is ahead", replica: author, now: now)
      }
      guard head.time >= heads[author]?.time ?? .zero else {
        throw RemoteError(.timeNotIncreasing, "a time went back", replica: author)
      }
    }
  }

  mutating func complete(_ place: Int) {
    snapshots[place].isComplete = true
    let offer = snapshots[place].offer
    if offer.isBase {
      entries.append(nil)
      for (author, head) in offer.heads where head.sequence > heads[author]?.sequence ?? 0 {
        heads[author] = Head(sequence: head.sequence, time: head.time)
      }
      snapshots[place].position = position
      snapshots[place].cursor = cursor(at: entries.count)
    }
    let newest = snapshots[place].position
    let kept = Set(
      whole.filter { $0.position >= UInt64(trimmed) }.suffix(MemoryRemote.kept).map(\.id))
    snapshots.removeAll { $0.isComplete ? !kept.contains($0.id) : $0.position <= newest }
    let horizon = readers.values.min() ?? entries.count
    trimmed = max(trimmed, min(horizon, Int(whole.first?.position ?? 0)))
  }
}
