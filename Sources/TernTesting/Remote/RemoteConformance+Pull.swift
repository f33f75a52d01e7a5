import Tern

extension RemoteConformance {
  func checkExcluded(_ space: RemoteSpace) async throws {
    var (a, b) = (RemoteAuthor(1), RemoteAuthor(2))
    let (own, others) = (a.next(3), b.next(2))
    _ = try await space(a).push(own)
    _ = try await space(b).push(others)
    let (given, cursor, _) = try await space.all(for: a.id)
    try requireEqual(.acknowledgedIsStored, given, others, "what an author is given")
    _ = try await space(a).push(a.next(2))
    let later = try await space.all(for: a.id, after: cursor)
    try requireEqual(.cursorFollowsState, later.operations, [], "a cursor after own operations")
  }

  func checkPages(_ space: RemoteSpace) async throws {
    var authors = (1...3).map { RemoteAuthor(UInt64($0)) }
    var expected: [ReplicaID: [SyncOperation]] = [:]
    for round in 0..<8 {
      for index in authors.indices {
        let id = authors[index].id
        // Long enough that no page holds all.
        let batch = (0..<3).map { _ in authors[index].next(bytes: 20_000 * (round + 1)) }
        _ = try await space.open(id).push(batch)
        expected[id, default: []] += batch
      }
    }
    let (given, cursor, _) = try await space.all()
    for (id, operations) in expected {
      try require(
        .cursorFollowsState, given.filter { $0.envelope.replica == id } == operations,
        "an author's operations are not given each once and in order")
    }
    let after = try await space.all(after: cursor)
    try requireEqual(.cursorFollowsState, after.operations, [], "what comes after everything")
  }

  func checkFragments(_ space: RemoteSpace) async throws {
    var a = RemoteAuthor(1)
    let group = [a.next(continues: true), a.next(bytes: 100_000, continues: true), a.next()]
    let remote = try await space(a)
    // A push may end within a group.
    _ = try await remote.push(Array(group.prefix(2)))
    try requireEqual(
      .acknowledgedIsStored, try await remote.greet().heads[a.id], 2, "the head within a group")
    let (_, cursor, _) = try await space.all()
    _ = try await remote.push([group[2]])
    let rest = try await space.all(after: cursor).operations
    try requireEqual(
      .operationsAreAtomic, rest.last, group[2], "the end of a group, after its beginning")
    try requireEqual(.operationsAreAtomic, try await space.all().operations, group, "a group")
  }

  func checkCursor(_ space: RemoteSpace) async throws {
    var (a, b) = (RemoteAuthor(1), RemoteAuthor(2))
    let remote = try await space(a)
    var cursor: RemoteCursor?
    for _ in 0..<4 {
      let batch = a.next(2)
      _ = try await remote.push(batch)
      let carried = b.next()
      _ = try await remote.push([carried])
      let given = try await space.all(after: cursor)
      try require(
        .cursorFollowsState, Set(given.operations) == Set(batch + [carried]),
        "after a cursor comes what was pushed since")
      cursor = given.cursor
    }
    for text in ["", "no cursor", "\(cursor!.rawValue)x"] {
      do {
        _ = try await remote.pull(after: RemoteCursor(rawValue: text), excluding: a.id)
      } catch let error as RemoteError {
        try requireEqual(
          .cursorFollowsState, error.code, .cursorUnknown, "the refusal of the cursor “\(text)”")
        continue
      }
      throw ConformanceFailure(.cursorFollowsState, "“\(text)” was taken for a cursor")
    }
  }

  func checkReopened(_ space: RemoteSpace) async throws {
    var (a, b) = (RemoteAuthor(1), RemoteAuthor(2))
    let remote = try await space(a)
    let operations = a.next(3)
    _ = try await remote.push(operations)
    let (_, cursor, _) = try await space.all()
    let again = try await space(a)
    try requireEqual(.cursorFollowsState, again.id, remote.id, "the name of a remote")
    let (first, second) = try await (remote.greet(), again.greet())
    try requireEqual(.cursorFollowsState, second.epoch, first.epoch, "the epoch of a remote")
    try requireEqual(.acknowledgedIsStored, second.heads, first.heads, "the heads of a remote")
    let next = b.next()
    _ = try await again.push([next])
    let later = try await space.all(after: cursor)
    try requireEqual(.cursorFollowsState, later.operations, [next], "a cursor of another remote")
  }

  func checkPositions(_ space: RemoteSpace) async throws {
    var a = RemoteAuthor(1)
    let remote = try await space(a)
    _ = try await remote.push(a.next(2))
    let watching = try await space.open(.numbered(99))
    let greeting = try await watching.greet()
    let cursor = try await watching.pull(after: nil, excluding: .numbered(99)).cursor
    var positions = watching.positions(after: cursor).makeAsyncIterator()
    guard let first = try await positions.next() else {
      throw ConformanceFailure(.drains, "no position was told")
    }
    try require(
      .drains, first >= greeting.position, "the position went back: \(first), \(greeting.position)")
    _ = try await remote.push(a.next(1))
    guard let second = try await positions.next() else {
      throw ConformanceFailure(.drains, "that the space grew was not told")
    }
    try require(.drains, second > first, "the position did not grow: \(first), then \(second)")
  }
}
