#if Server
import TernCore
import TernServer
import TernTesting

/// Spaces that are removed.
enum RemovalChecks {
  /// Puts some of everything into a space.
  private static func fill(_ space: StoreSpace) throws {
    var a = StoreAuthor(1)
    let id = a.id
    try space.append(a.next(4, bytes: 100))
    try space.upload("whole", at: 4, [[1], [2], [3]])
    let token = space.token(space.name.text)
    let state = StoredState.reported(by: id, at: 4)
    try space.update { transaction in
      try transaction.set(Lease(position: 4, renewed: .at(1)), of: id)
      try transaction.add(PositionMark(position: 4, time: .at(1)), .stored)
      try transaction.add(PositionMark(position: 1, time: .at(1)), .trimmed)
      try transaction.set(AuthorRecord(admitted: 4), of: id)
      try transaction.set(SpaceQuota(bytes: 9000))
      try transaction.set(state)
      try transaction.trim(through: 1)
      _ = try transaction.releaseTrimmed(operations: 1)
      try transaction.add(token)
    }
  }

  static func checkRemoved(_ space: StoreSpace) throws {
    let (store, name, id) = (space.store, space.name, StoreAuthor(1).id)
    let beside = try space.beside()
    try fill(space)
    try fill(beside)
    try require(.acknowledgedIsStored, try store.removeSpace(name), "a space was not removed")
    try require(.acknowledgedIsStored, try !store.removeSpace(name), "it was removed twice")
    try requireEqual(.spacesAreApart, try store.spaces(), [beside.name], "the spaces left")
    try requireEqual(
      .spacesAreApart, try store.tokens().map(\.space), [beside.name], "the tokens left")
    try requireEqual(.acknowledgedIsStored, try space.summary, space.emptySummary, "its summary")
    try requireEqual(.acknowledgedIsStored, try space.usage, SpaceUsage(), "its usage")
    try requireEqual(.acknowledgedIsStored, try space.page().operations, [], "its operations")
    try requireEqual(.acknowledgedIsStored, try store.lease(of: id, in: name), nil, "its leases")
    try requireEqual(.acknowledgedIsStored, try store.authorRecords(of: name), [:], "its records")
    let part = try store.snapshotPart(0, of: "whole", in: name, isWhole: true)
    try requireEqual(.acknowledgedIsStored, part, nil, "a part of its snapshot")
    // Its name is free, though what it held may be there still.
    let before = try space.update { transaction in
      let isEmpty =
        try transaction.heads().isEmpty && transaction.snapshots().isEmpty
        && transaction.leases().isEmpty && transaction.marks(.stored).isEmpty
        && transaction.marks(.trimmed).isEmpty && transaction.state == nil
        && transaction.trimmed == 0 && transaction.position == 0
      try require(.spacesAreApart, isEmpty, "a space has something of one that had its name")
      return try transaction.spacesBefore
    }
    try requireEqual(.limitsHold, before, 1, "the spaces before one that has a free name")
  }

  static func checkRemains(_ space: StoreSpace) throws {
    let beside = try space.beside()
    try fill(space)
    try fill(beside)
    _ = try space.store.removeSpace(space.name)
    try fill(space)
    let (here, there) = try (space.picture(), beside.picture())
    try space.drain("removing what a space held") {
      try space.store.removeRemains(rows: 2, contentBytes: 150)
    }
    try require(
      .spacesAreApart, try space.picture() == here, "a space lost something to one before it")
    try require(
      .spacesAreApart, try beside.picture() == there, "a space lost something to one beside it")
    let isMore = try space.store.removeRemains(rows: 2, contentBytes: 150)
    try require(.drains, !isMore, "there is more of a removed space after everything is gone")
  }
}
#endif
