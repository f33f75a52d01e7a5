import TernCore

/// Rows that an operation inserts and that are most likely new here, until there are enough of them
/// for one statement. They stay inside the operation's bytes: none may outlive its block.
struct NewRows {
  /// Behind ``count`` stand rows whose arrays the reader fills again.
  private(set) var rows: [BodyRow] = []
  private(set) var count = 0
  /// Of the rows that this stamp has written to the table. One that came before under the same
  /// stamp would have the very state that the second brings.
  private var written = KeySet()
  private var stamp = Stamp.zero

  /// So many rows of a group are known; those behind are merged one by one.
  private static let knownLimit = 100_000

  /// Notes a row that is about to be merged, in whatever way.
  ///
  /// - Returns: whether the group has surely not brought it before.
  mutating func isFirst(_ row: BodyRow, _ stamp: Stamp) -> Bool {
    if stamp != self.stamp {
      written.removeAll()
      self.stamp = stamp
    }
    if written.count == Self.knownLimit { return false }
    return written.insert(KeyHash.of(row.packedKey))
  }

  /// Takes a row, and gives one to read into instead.
  mutating func take(_ row: inout BodyRow) {
    if count == rows.count { rows.append(BodyRow()) }
    swap(&rows[count], &row)
    count += 1
  }

  mutating func removeAll() {
    count = 0
  }
}
