@_spi(Rehearsal) import TernCore
import TernDatabase

/// How a snapshot is joined with a state that holds what neither the snapshot nor the log has: what
/// another remote had been given, and trimmed since.
struct SnapshotJoin {
  let losses: Losses
  /// Authors of whom the snapshot has more than this replica.
  private(set) var behind: Set<UInt32> = []
  /// Whether both have operations of one author.
  private var isAnySharedAuthor = false
  /// By author, of the last operation that each has seen.
  private var (seenThere, seenHere): ([UInt32: HybridTime], [UInt32: HybridTime]) = ([:], [:])

  init(losses: Losses) { self.losses = losses }

  /// - Parameter row: of the author with that index, before anything is loaded.
  mutating func note(
    _ author: SnapshotHeading.Author, _ row: AuthorRow, _ index: UInt32
  ) {
    (seenThere[index], seenHere[index]) = (author.time, row.time)
    guard author.sequence > 0 else { return }
    if row.stored < author.sequence { behind.insert(index) }
    if row.merged > 0 { isAnySharedAuthor = true }
  }

  func joined(
    _ state: RowState, with theirs: RowState, of shape: TableShape, _ authors: Authors
  ) throws -> RowState {
    if isAnySharedAuthor, state.sharesCounter(with: theirs) {
      throw SnapshotError(
        .lacksOperations,
        "the snapshot and this replica have counted in one row of \(shape.name), before Tern knew who "
          + "counts; let a device sync first that has operations of both")
    }
    if Planted.isActive(.joinForgetsOwn) { return theirs }
    do {
      return try state.joined(
        with: theirs, isBehind: { behind.contains($0) }, rules: shape.rules,
        deletes: shape.deletes, authors: authors)
    } catch {
      throw SnapshotError(
        .lacksOperations,
        "the snapshot and this replica have a text of \(shape.name) that can't be one: \(error). "
          + "A database was copied, and both copies wrote on")
    }
  }

  private func isUnseenThere(_ stamp: Stamp) -> Bool {
    stamp.time > seenThere[stamp.author] ?? .zero
  }

  private func isUnseenHere(_ stamp: Stamp) -> Bool {
    stamp.time > seenHere[stamp.author] ?? .zero
  }

  // MARK: - What lost

  /// One of two states of a row, with what its table shows of it.
  struct Side {
    let state: RowState
    let content: [String: SQLiteValue]

    /// Whether a write that somebody had not seen is to another column than those that nobody
    /// writes by hand.
    func hasWrites(in shape: TableShape, _ isUnseen: (Stamp) -> Bool) -> Bool {
      shape.automaticColumns.isEmpty
        || shape.columns.contains { column in
          !shape.isAutomatic(column.name)
            && (state.stamp(of: UInt32(column.id)).map(isUnseen) ?? false)
        }
    }
  }

  /// Keeps what lost against a write that its author had not seen.
  func keepLosers(
    _ mine: Side, _ theirs: Side, _ joined: RowState, _ shape: TableShape,
    _ key: UnsafeRawBufferPointer, _ authors: Authors
  ) throws {
    guard losses.isKeeping else { return }
    guard joined.isPresent else {
      guard let deletion = joined.presence?.deletion ?? (joined.isAlive ? nil : joined.stamp) else {
        return
      }
      for (side, isUnseen) in [(mine, isUnseenThere), (theirs, isUnseenHere)] {
        guard side.state.isPresent, let latest = side.state.latestStamp(authors: authors),
          isUnseen(latest), side.hasWrites(in: shape, isUnseen)
        else { continue }
        try losses.add(shape, key, .deleteWins, side.content, loser: latest, winner: deletion)
      }
      return
    }
    guard mine.state.life == theirs.state.life else {
      let (lesser, isUnseen) =
        mine.state.life < theirs.state.life ? (mine, isUnseenThere) : (theirs, isUnseenHere)
      if lesser.state.isPresent, let latest = lesser.state.latestStamp(authors: authors),
        isUnseen(latest), lesser.hasWrites(in: shape, isUnseen)
      {
        try losses.add(shape, key, .deleteWins, lesser.content, loser: latest, winner: joined.stamp)
      }
      return
    }
    for column in shape.columns where column.rule.isLastWriter {
      let id = UInt32(column.id)
      guard let old = mine.state.stamp(of: id), let new = theirs.state.stamp(of: id), old != new,
        isUnseenThere(old), isUnseenHere(new),
        mine.content[column.name] != theirs.content[column.name]
      else { continue }
      let isMine = joined.stamp(of: id) == old
      let lost = (isMine ? theirs : mine).content[column.name] ?? .null
      let isInsert = old == mine.state.stamp && new == theirs.state.stamp
      // An insert writes every column, those too that nobody named.
      if isInsert, lost == .null { continue }
      try losses.add(
        shape, key, isInsert ? .sameKey : .lastWriter, [column.name: lost],
        loser: isMine ? new : old, winner: isMine ? old : new)
    }
  }
}
