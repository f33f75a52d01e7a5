import TernCore

/// Holds a snapshot that is to take a state's place against that state (INV-03).
///
/// The heading says which operations are in it. What one of those wrote here stands in the snapshot
/// too, or something later: a row and a tombstone stay for good, and lives and stamps only grow. A
/// snapshot that has less is damaged, or whoever made it lies.
final class SnapshotCheck {
  /// By author, of the last operation that is in the snapshot.
  private let seen: [UInt32: HybridTime]
  /// What is not there: in which table, to which column, and by whom and when it was written.
  private struct Write: Hashable {
    let table: Int64
    /// `nil` for a write to the row.
    let column: UInt32?
    let stamp: Stamp
  }

  private var missing: Set<Write> = []
  /// By stamp, what waits in the snapshot: whole, or in some tables.
  private var excused: [Stamp: Excuse] = [:]
  private enum Excuse {
    case whole
    case parts(Set<DeferredPart>)
  }
  private var shapes: [Int64: TableShape] = [:]
  /// The first rows of what is missing.
  private var examples: [(write: Write, row: String)] = []
  private static let mostExamples = 100

  init(seen: [UInt32: HybridTime]) { self.seen = seen }

  /// - Parameters:
  ///   - theirs: `nil` where the snapshot does not have the row.
  ///   - knows: whether whoever cut the snapshot knew a column.
  func hold(
    _ theirs: RowState?, against mine: RowState, of shape: TableShape, _ key: [SQLiteValue],
    knows: (TableShape.Column) -> Bool, _ authors: Authors
  ) {
    let columns = shape.columns.lazy.filter(knows).map { (id: UInt32($0.id), rule: $0.rule) }
    for write in mine.writes(lackingIn: theirs, columns: columns, authors: authors) {
      note(Write(table: shape.id, column: write.column, stamp: write.stamp), shape, key)
    }
  }

  private func note(_ write: Write, _ shape: TableShape, _ key: [SQLiteValue]) {
    let stamp = write.stamp
    guard stamp != .zero, stamp.time <= seen[stamp.author] ?? .zero else { return }
    shapes[shape.id] = shape
    missing.insert(write)
    if examples.count < Self.mostExamples {
      let key = key.map { "\($0)" }.joined(separator: ", ")
      examples.append((write, "\(key) of \(shape.name)"))
    }
  }

  /// What waits in the snapshot for a newer version of Tern or a clock is in none of its rows.
  /// What waits for one of the app is not in its table, where that or a row's key is not known, or
  /// not in its column, which can be known by a former name.
  func excuse(_ waiting: CarriedOperation, _ time: HybridTime) {
    let stamp = Stamp(time: time, author: waiting.id.author)
    // The last of its group says it for all, which have one time.
    if waiting.aside != nil {
      excused[stamp] = .whole
      return
    }
    switch excused[stamp] {
    case .whole?: break
    case .parts(let known)?: excused[stamp] = .parts(known.union(waiting.parts))
    case nil: if !waiting.parts.isEmpty { excused[stamp] = .parts(waiting.parts) }
    }
  }

  private func isExcused(_ write: Write) -> Bool {
    switch excused[write.stamp] {
    case .whole?: true
    case .parts(let parts)?:
      parts.contains { part in
        guard let shape = shapes[write.table], shape.isNamed(part.table) else { return false }
        return part.column.isEmpty || shape.keyNames.contains { $0.folded == part.column }
          || shape.columns.contains { column in
            write.column == UInt32(column.id)
              && ([column.name] + column.formerNames).contains { $0.folded == part.column }
          }
      }
    case nil: false
    }
  }

  /// - Throws: ``SnapshotError``, where something would be taken away.
  func finish() throws {
    if Planted.isActive(.loadUnchecked) { return }
    missing = missing.filter { !isExcused($0) }
    guard !missing.isEmpty else { return }
    let count = Set(missing.map(\.stamp)).count
    let row = examples.first { missing.contains($0.write) }?.row
    throw SnapshotError(
      .takesAway,
      "the snapshot lacks what \(count) operations wrote that it says it holds"
        + (row.map { ", in row \($0) for one" } ?? "")
        + "; nothing was loaded. Let another device give the remote a snapshot, and find out which "
        + "device gave this one")
  }
}
