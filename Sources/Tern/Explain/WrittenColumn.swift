import TernCore

/// One write as a scan of the log met it.
struct LoggedWrite {
  let stamp: Stamp
  let sequence: UInt64
  /// What its author had merged of others.
  let seen: VersionVector
  let content: WriteContent

  /// Whether neither author had seen the other's operation.
  func isConcurrent(with other: LoggedWrite, _ authors: Authors) -> Bool {
    stamp.author != other.stamp.author
      && seen[authors.ids[Int(other.stamp.author)]] < other.sequence
      && other.seen[authors.ids[Int(stamp.author)]] < sequence
  }
}

/// The writes to one column, of which the newest are kept and the one that stands.
struct WrittenColumn {
  /// Of the write that stands; `nil` for none.
  let standing: Stamp?
  /// The newest first.
  private(set) var newest: [LoggedWrite] = []
  private(set) var winner: LoggedWrite?
  private(set) var count = 0

  init(standing: Stamp?) {
    self.standing = standing
  }

  mutating func add(_ write: LoggedWrite, limit: Int, _ authors: Authors) {
    count += 1
    if write.stamp == standing { winner = write }
    let place = newest.firstIndex { authors.isLess($0.stamp, write.stamp) } ?? newest.endIndex
    guard place < limit else { return }
    newest.insert(write, at: place)
    if newest.count > limit { newest.removeLast() }
  }

  /// The newest, and the one that stands.
  var all: [LoggedWrite] {
    guard let winner, !newest.contains(where: { $0.stamp == winner.stamp }) else { return newest }
    return newest + [winner]
  }
}
