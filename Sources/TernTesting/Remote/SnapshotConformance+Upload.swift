import Tern

extension SnapshotConformance {
  func checkWhole(_ space: RemoteSpace) async throws {
    var (a, b) = (RemoteAuthor(1), RemoteAuthor(2))
    _ = try await space(a).push(a.next(3) + b.next(2))
    let offer = space.offer(at: try await space.end(for: a.id), of: [a, b], parts: 3)
    let (remote, other) = try await (space(a), space(b))
    let upload = try await remote.beginSnapshot(offer)
    try requireEqual(.acknowledgedIsStored, upload.missing, [0, 1, 2], "what a new upload misses")
    let parts = try offer.partsWithoutRows()
    for index in [2, 0, 1] {
      try await remote.putSnapshotPart(parts[index], index: index, of: upload.id)
      let seen = try await other.greet().snapshot
      try require(.operationsAreAtomic, seen == nil, "a snapshot is seen before it is complete")
      try await space.refuses(.snapshotUnknown, "reading a part of an upload") {
        _ = try await other.snapshotPart(index, of: upload.id)
      }
    }
    try await remote.completeSnapshot(upload.id)
    guard let snapshot = try await other.greet().snapshot, let cursor = offer.cursor else {
      throw ConformanceFailure(.acknowledgedIsStored, "a complete snapshot is not in the greeting")
    }
    try requireEqual(
      .acknowledgedIsStored, snapshot,
      RemoteSnapshot(
        id: upload.id, position: 5, cursor: cursor, parts: 3,
        heads: VersionVector([a.id: 3, b.id: 2])), "the snapshot in the greeting")
    for index in 0..<3 {
      let given = try await other.snapshotPart(index, of: snapshot.id)
      try require(.acknowledgedIsStored, given == parts[index], "part \(index) came back changed")
    }
    let next = b.next()
    _ = try await other.push([next])
    let later = try await space.all(after: snapshot.cursor).operations
    try requireEqual(.cursorFollowsState, later, [next], "what follows a snapshot")
  }

  func checkResumed(_ space: RemoteSpace) async throws {
    var a = RemoteAuthor(1)
    _ = try await space(a).push(a.next(2))
    let offer = space.offer(at: try await space.end(for: a.id), of: [a], parts: 4)
    let first = try await space(a).beginSnapshot(offer)
    try await space(a).putSnapshotPart(try space.part(offer, 3), index: 3, of: first.id)
    try await space(a).putSnapshotPart(try space.part(offer, 1), index: 1, of: first.id)
    let again = try await space(a).beginSnapshot(offer)
    try requireEqual(
      .acknowledgedIsStored, again, SnapshotUpload(id: first.id, missing: [0, 2]),
      "an upload that is begun again")
    try await space.refuses(.snapshotIncomplete, "completing an upload that misses parts") {
      try await space(a).completeSnapshot(first.id)
    }
    let id = try await space.upload(offer, by: a)
    try requireEqual(.acknowledgedIsStored, id, first.id, "the name of an upload that went on")
    for index in 0..<4 {
      let given = try await space(a).snapshotPart(index, of: id)
      try requireEqual(.acknowledgedIsStored, given, try space.part(offer, index), "part \(index)")
    }
  }

  func checkRepeats(_ space: RemoteSpace) async throws {
    var a = RemoteAuthor(1)
    _ = try await space(a).push(a.next(2))
    let offer = space.offer(at: try await space.end(for: a.id), of: [a], parts: 2)
    let remote = try await space(a)
    let id = try await remote.beginSnapshot(offer).id
    for _ in 0..<2 { try await remote.putSnapshotPart(try space.part(offer, 0), index: 0, of: id) }
    try await space.refuses(.snapshotConflict, "another part under its number") {
      try await remote.putSnapshotPart([0], index: 0, of: id)
    }
    try await remote.putSnapshotPart(try space.part(offer, 1), index: 1, of: id)
    for _ in 0..<2 { try await remote.completeSnapshot(id) }
    try await remote.putSnapshotPart(try space.part(offer, 1), index: 1, of: id)
    let again = try await remote.beginSnapshot(offer)
    try requireEqual(
      .acknowledgedIsStored, again, SnapshotUpload(id: id, missing: []),
      "a complete snapshot that is begun again")
    let given = try await remote.snapshotPart(0, of: id)
    try requireEqual(.acknowledgedIsStored, given, try space.part(offer, 0), "a part after repeats")
  }

  func checkRefused(_ space: RemoteSpace) async throws {
    var (a, b) = (RemoteAuthor(1), RemoteAuthor(2))
    let remote = try await space(a)
    _ = try await remote.push(a.next(2))
    let before = a
    _ = try await remote.push(b.next(1) + a.next(1))
    let end = try await space.end(for: a.id)
    var ahead = a
    _ = ahead.next()
    let strange = RemoteCursor(rawValue: "no cursor")
    let offers: [(RemoteError.Code, String, SnapshotOffer)] = [
      (.cursorUnknown, "a strange cursor", space.offer(at: strange, of: [a, b])),
      (.snapshotIncomplete, "heads without an author", space.offer(at: end, of: [a])),
      (.snapshotIncomplete, "heads that are behind", space.offer(at: end, of: [before, b])),
      (.sequenceGap, "what was not pushed", space.offer(at: end, of: [ahead, b])),
      (.malformed, "a snapshot without parts", space.offer(at: end, of: [a, b], parts: 0)),
      (.malformed, "a snapshot without a key", space.offer("", at: end, of: [a, b])),
    ]
    for (code, what, offer) in offers {
      try await space.refuses(code, what) { _ = try await remote.beginSnapshot(offer) }
    }
    let id = try await remote.beginSnapshot(space.offer(at: end, of: [a, b], parts: 2)).id
    let sizes: [(RemoteError.Code, String, Int, Int)] = [
      (.malformed, "an empty part", 0, 0), (.malformed, "a part beyond the last", 1, 2),
      (.tooLarge, "a part of more than 32 MiB and 64 bytes", SnapshotPart.Limit.bytes + 1, 0),
    ]
    for (code, what, count, index) in sizes {
      let bytes = [UInt8](repeating: 7, count: count)
      try await space.refuses(code, what) {
        try await remote.putSnapshotPart(bytes, index: index, of: id)
      }
    }
    try await space.refuses(.snapshotUnknown, "a part of nothing") {
      try await remote.putSnapshotPart([1], index: 0, of: "nothing")
    }
    try await space.refuses(.snapshotUnknown, "completing nothing") {
      try await remote.completeSnapshot("nothing")
    }
    _ = try await space.upload(space.offer("first", at: end, of: [a, b]), by: a)
    try await space.refuses(.snapshotSuperseded, "a snapshot that is not newer") {
      _ = try await remote.beginSnapshot(space.offer("second", at: end, of: [a, b]))
    }
  }
}
