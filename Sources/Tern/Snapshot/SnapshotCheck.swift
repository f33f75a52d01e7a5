import TernCore

/// Holds a snapshot that is to take a state's place against that state (INV-03).
///
/// The heading says which operations are in it. What one of those wrote here stands in the snapshot
/// too, or something later: a row and a tombstone stay for good, and lives and stamps only grow. A
/// snapshot that has less is damaged, or whoever made it lies.
final class SnapshotCheck {
  /// By author, of the last operation that is in the snapshot.
  private let seen: [UInt32: HybridTime]
  /// Of what is not there, by whom and when it was written.
  private var missing: Set<Stamp> = []
  private var excused: Set<Stamp> = []
  /// The first rows of them.
  private var examples: [(stamp: Stamp, row: String)] = []
  private static let mostExamples = 100

  /// - Parameter seen: without authors of whom the log has another copy's operations.
  init(seen: [UInt32: HybridTime]) { self.seen = seen }

  /// - Parameters:
  ///   - theirs: `nil` where the snapshot does not have the row.
  ///   - knows: whether whoever cut the snapshot knew a column.
  func hold(
    _ theirs: RowState?, against mine: RowState, of shape: TableShape, _ key: [Value],
    knows: (TableShape.Column) -> Bool, _ authors: Authors
  ) {
    guard let theirs else {
      for stamp in mine.everyStamp { note(stamp, shape, key) }
      return
    }
    if theirs.life > mine.life { return }
    note(mine.stamp, shape, key, unless: theirs.life == mine.life ? theirs.stamp : nil, authors)
    guard theirs.life == mine.life else { return }
    if let deletion = mine.presence?.deletion {
      note(deletion, shape, key, unless: theirs.presence?.deletion, authors)
    }
    for column in shape.columns where knows(column) {
      let id = UInt32(column.id)
      guard let stamp = mine.stamp(of: id) else { continue }
      switch (mine.content(of: id), theirs.content(of: id)) {
      case (.extreme(let value, _), .extreme(let other, _)):
        // The stamp of an extreme can go down.
        if value != other, column.rule.isBeaten(other, by: value) { note(stamp, shape, key) }
      default: note(stamp, shape, key, unless: theirs.stamp(of: id), authors)
      }
    }
  }

  private func note(
    _ stamp: Stamp, _ shape: TableShape, _ key: [Value], unless other: Stamp?, _ authors: Authors
  ) {
    if let other, other == stamp || authors.isLess(stamp, other) { return }
    note(stamp, shape, key)
  }

  private func note(_ stamp: Stamp, _ shape: TableShape, _ key: [Value]) {
    guard stamp != .zero, stamp.time <= seen[stamp.author] ?? .zero else { return }
    missing.insert(stamp)
    if examples.count < Self.mostExamples {
      let key = key.map { "\($0)" }.joined(separator: ", ")
      examples.append((stamp, "\(key) of \(shape.name)"))
    }
  }

  /// What waits in the snapshot for a newer version of the app or of Tern is in none of its rows.
  func excuse(_ author: UInt32, _ time: HybridTime) {
    excused.insert(Stamp(time: time, author: author))
  }

  /// - Throws: ``SnapshotError``, where something would be taken away.
  func finish() throws {
    missing.subtract(excused)
    guard !missing.isEmpty else { return }
    let row = examples.first { missing.contains($0.stamp) }?.row
    throw SnapshotError(
      .takesAway,
      "the snapshot lacks what \(missing.count) operations wrote that it says it holds"
        + (row.map { ", in row \($0) for one" } ?? "")
        + "; nothing was loaded. Let another device give the remote a snapshot, and find out which "
        + "device gave this one")
  }
}
