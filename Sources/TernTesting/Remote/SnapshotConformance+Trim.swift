import Tern

extension SnapshotConformance {
  func checkKept(_ space: RemoteSpace) async throws {
    var a = RemoteAuthor(1)
    var (ids, cursors, offers): ([String], [RemoteCursor], [SnapshotOffer]) = ([], [], [])
    for round in 0..<3 {
      _ = try await space(a).push(a.next(2))
      cursors.append(try await space.end(for: a.id))
      offers.append(space.offer("\(round)", at: cursors[round], of: [a]))
      ids.append(try await space.upload(offers[round], by: a))
    }
    let older = try await space(a).snapshotPart(0, of: ids[1])
    let whole = try space.part(offers[1], 0)
    try requireEqual(.acknowledgedIsStored, older, whole, "the snapshot before")
    let later = try await space.all(after: cursors[1]).operations
    try requireEqual(.cursorFollowsState, later.count, 2, "what follows the snapshot before")
    try await space.refuses(.snapshotUnknown, "reading one that newer ones replaced") {
      _ = try await space(a).snapshotPart(0, of: ids[0])
    }
  }

  func checkTrimmed(_ space: RemoteSpace) async throws {
    var (a, copy) = (RemoteAuthor(1), RemoteAuthor(1))
    let operations = a.next(6)
    let remote = try await space(a)
    _ = try await remote.push(operations)
    let half = try await space.end(for: a.id)
    // Asking after the end is what says that everything before it is merged.
    _ = try await remote.pull(after: half, excluding: a.id)
    let offer = space.offer(at: half, of: [a])
    _ = try await space.upload(offer, by: a)
    let greeting = try await remote.greet()
    try requireEqual(.compactionIsUnseen, greeting.trimmed, 6, "up to where is trimmed")
    try requireEqual(.compactionIsUnseen, greeting.heads[a.id], 6, "a head after trimming")
    let stranger = ReplicaID.numbered(98)
    try await space.refuses(.snapshotNeeded, "pulling from the beginning") {
      _ = try await space.open(stranger).pull(after: nil, excluding: stranger)
    }
    let again = try await remote.push(operations)
    try requireEqual(
      .acknowledgedIsStored, again.accepted, 0, "a repeat of what was trimmed")
    _ = copy.next()
    let other = copy.next("other")
    try await space.refuses(.sequenceConflict, "other content under a trimmed number") {
      _ = try await remote.push([other])
    }
    let next = a.next()
    _ = try await remote.push([next])
    guard let cursor = greeting.snapshot?.cursor else {
      throw ConformanceFailure(.acknowledgedIsStored, "the greeting lost its snapshot")
    }
    let later = try await space.all(after: cursor).operations
    try requireEqual(.cursorFollowsState, later, [next], "what follows the snapshot")
  }

  func checkHorizon(_ space: RemoteSpace) async throws {
    var a = RemoteAuthor(1)
    let reader = ReplicaID.numbered(97)
    _ = try await space(a).push(a.next(2))
    let place = try await space.end(for: reader)
    _ = try await space.open(reader).pull(after: place, excluding: reader)
    let new = a.next(3)
    _ = try await space(a).push(new)
    let end = try await space.end(for: a.id)
    _ = try await space(a).pull(after: end, excluding: a.id)
    _ = try await space.upload(space.offer(at: end, of: [a]), by: a)
    let trimmed = try await space(a).greet().trimmed
    try requireEqual(.compactionIsUnseen, trimmed, 2, "up to where the readers let it be trimmed")
    let given = try await space.all(for: reader, after: place).operations
    try requireEqual(.cursorFollowsState, given, new, "what a reader had yet to pull")
  }

  func checkBase(_ space: RemoteSpace) async throws {
    var (a, b) = (RemoteAuthor(1), RemoteAuthor(2))
    let lost = a.next(5)
    let own = b.next(2)
    // What has yet to be pulled is trimmed behind no base.
    let reader = ReplicaID.numbered(96)
    _ = try await space(b).push(own)
    _ = try await space.open(reader).pull(after: nil, excluding: reader)
    let end = try await space.end(for: b.id)
    try await space.refuses(.snapshotIncomplete, "a base that lacks what the space has") {
      _ = try await space(b).beginSnapshot(space.offer(at: end, of: [a], isBase: true))
    }
    _ = try await space.upload(space.offer(at: end, of: [a, b], isBase: true), by: b)
    let greeting = try await space(a).greet()
    let heads = VersionVector([a.id: 5, b.id: 2])
    try requireEqual(.acknowledgedIsStored, greeting.heads, heads, "the heads after a base")
    try requireEqual(
      .acknowledgedIsStored, greeting.snapshot?.heads, heads, "the heads of a base")
    let given = try await space.open(reader).pull(after: nil, excluding: reader)
    try requireEqual(.cursorFollowsState, given.operations, own, "what is before a base")
    try requireEqual(.cursorFollowsState, given.cursor, end, "where a page before a base ends")
    try await space.refuses(.snapshotNeeded, "pulling from before a base") {
      _ = try await space(a).pull(after: end, excluding: a.id)
    }
    // It can't be compared with anything, and so is no sign of a copy.
    try await space.refuses(.sequenceGap, "pushing what a base stands for") {
      _ = try await space(a).push([lost[4]])
    }
    let again = try await space(b).push(own)
    try requireEqual(.acknowledgedIsStored, again.accepted, 0, "a repeat from before the base")
    let next = a.next()
    _ = try await space(a).push([next])
    let later = try await space.all(after: greeting.snapshot?.cursor).operations
    try requireEqual(.cursorFollowsState, later, [next], "what follows a base")
    var c = RemoteAuthor(3)
    _ = c.next()
    let late = space.offer("late", at: greeting.snapshot?.cursor, of: [a, b, c], isBase: true)
    try await space.refuses(.snapshotSuperseded, "a base of a space that grew") {
      _ = try await space(a).beginSnapshot(late)
    }
  }
}
