import Tern

extension RemoteConformance {
  func checkEmpty(_ space: RemoteSpace) async throws {
    let remote = try await space(RemoteAuthor(1))
    let greeting = try await remote.greet()
    try requireEqual(.acknowledgedIsStored, greeting.heads, VersionVector(), "heads of nothing")
    try requireEqual(.cursorFollowsState, greeting.position, 0, "the position of an empty space")
    try require(.cursorFollowsState, !greeting.epoch.isEmpty, "a remote has an epoch")
    try require(.cursorFollowsState, !remote.id.isEmpty, "a remote has a name")
    let page = try await remote.pull(after: nil, excluding: RemoteAuthor(1).id)
    try require(
      .cursorFollowsState, page.operations.isEmpty && !page.hasMore, "an empty space gives \(page)")
    let receipt = try await remote.push([])
    try requireEqual(.acknowledgedIsStored, receipt.accepted, 0, "pushing nothing")
  }

  func checkPush(_ space: RemoteSpace) async throws {
    var (a, b) = (RemoteAuthor(1), RemoteAuthor(2))
    let (first, second) = (a.next(3), b.next(2))
    let remote = try await space(a)
    let before = try await remote.greet().position
    let receipt = try await remote.push(first)
    try requireEqual(.acknowledgedIsStored, receipt.accepted, 3, "what a push counts")
    try require(
      .drains, receipt.position > before, "a push moves the position: \(receipt.position)")
    _ = try await space(b).push(second)
    let large = a.next(bytes: 300_000)
    _ = try await remote.push([large])
    try requireEqual(
      .acknowledgedIsStored, try await space(b).greet().heads,
      VersionVector([a.id: 4, b.id: 2]), "the heads after three pushes")
    let all = try await space.all().operations
    try requireEqual(
      .acknowledgedIsStored, all.filter { $0.envelope.replica == a.id }, first + [large],
      "what one author pushed")
    try requireEqual(
      .acknowledgedIsStored, all.filter { $0.envelope.replica == b.id }, second,
      "what the other pushed")
  }

  func checkRepeats(_ space: RemoteSpace) async throws {
    var a = RemoteAuthor(1)
    let operations = a.next(3)
    let remote = try await space(a)
    _ = try await remote.push(operations)
    let again = try await remote.push(operations)
    try requireEqual(.acknowledgedIsStored, again.accepted, 0, "what a repeated push counts")
    let next = a.next()
    let overlapping = try await remote.push([operations[2], next])
    try requireEqual(.acknowledgedIsStored, overlapping.accepted, 1, "a push with one repeat")
    try requireEqual(
      .acknowledgedIsStored, try await space.all().operations, operations + [next],
      "the space after repeats")
  }

  func checkConflict(_ space: RemoteSpace) async throws {
    var (a, copy) = (RemoteAuthor(1), RemoteAuthor(1))
    let first = a.next(2)
    _ = try await space(a).push(first)
    _ = copy.next()
    let other = copy.next("other")
    try await space.refuses(
      [other], of: copy, .sequenceConflict, "other content under a number", naming: other)
    try await space.refuses(
      [first[0], other, copy.next()], of: copy, .sequenceConflict, "a conflict in the middle",
      naming: other)
    let next = a.next()
    _ = try await space(a).push([next])
    try requireEqual(
      .acknowledgedIsStored, try await space.all().operations, first + [next],
      "what goes on after a refusal")
  }

  func checkGap(_ space: RemoteSpace) async throws {
    var (a, b) = (RemoteAuthor(1), RemoteAuthor(2))
    let first = a.next()
    a.skip()
    let third = a.next()
    try await space.refuses([first, third], of: a, .sequenceGap, "a gap in a push", naming: third)
    _ = try await space(a).push([first])
    try await space.refuses([b.next(), third], of: b, .sequenceGap, "a gap after the heads")
  }

  func checkTimes(_ space: RemoteSpace) async throws {
    var a = RemoteAuthor(1)
    let first = a.next()
    a.repeatTime()
    let second = a.next()
    try await space.refuses(
      [first, second], of: a, .timeNotIncreasing, "a time twice", naming: second)
    _ = try await space(a).push([first])
    try await space.refuses(
      [second], of: a, .timeNotIncreasing, "a time that the space has", naming: second)
  }

  func checkCarried(_ space: RemoteSpace) async throws {
    var (a, b) = (RemoteAuthor(1), RemoteAuthor(2))
    let (others, own) = (a.next(3), b.next(2))
    let receipt = try await space(b).push(own + others)
    try requireEqual(.acknowledgedIsStored, receipt.accepted, 5, "a push with others' operations")
    // Who wrote them need not bring them again, and can go on.
    let next = a.next()
    let later = try await space(a).push(others + [next])
    try requireEqual(.acknowledgedIsStored, later.accepted, 1, "a push after a carrier's")
    let all = try await space.all().operations
    try requireEqual(
      .acknowledgedIsStored, all.filter { $0.envelope.replica == a.id }, others + [next],
      "what was carried, byte for byte")
  }

  /// At once, each in two pushes.
  func checkTogether(_ space: RemoteSpace) async throws {
    var authors = (1...4).map { RemoteAuthor(UInt64($0)) }
    let pushes = authors.indices.map {
      (authors[$0].id, [authors[$0].next(5), authors[$0].next(5)])
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (id, batches) in pushes {
        group.addTask {
          let remote = try await space.open(id)
          for batch in batches { _ = try await remote.push(batch) }
        }
      }
      try await group.waitForAll()
    }
    let all = try await space.all().operations
    for (id, batches) in pushes {
      try requireEqual(
        .acknowledgedIsStored, all.filter { $0.envelope.replica == id }, batches.flatMap { $0 },
        "what was pushed beside others")
    }
  }
}
