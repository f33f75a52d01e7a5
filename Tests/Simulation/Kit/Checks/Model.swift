#if Server && Rehearsal
import Tern

/// What the merged state must be, computed from all operations at once and without Tern's merge:
/// for each row, by table and key, the greatest life, for each column of that life the rule's own definition.
struct Model {
  struct Row: Equatable {
    var life: UInt32
    /// Neither deleted nor, in its unique column, behind a row that was created before.
    var isShown: Bool
    var cells: [String: SQLiteValue]
  }

  private struct Write {
    /// The first release that has its column.
    let version: Int
    let life: UInt32
    let time: HybridTime
    let replica: ReplicaID
    let sequence: UInt64
    let column: String
    let rule: UInt8
    let content: ModelContent
  }

  /// An insert, an update or a delete of a row; a delete is of the life that it ends.
  private struct Change {
    /// The first release that has its table.
    let version: Int
    let isDelete: Bool
    let isInsert: Bool
    let life: UInt32
    let time: HybridTime
    let replica: ReplicaID
    let sequence: UInt64
    let covered: VersionVector
  }

  /// Of the table `item`; the others have the default.
  private let deletes: DeleteRule
  private var writes: [String: [Write]] = [:]
  private var changes: [String: [Change]] = [:]
  private var times: [ReplicaID: HybridTime] = [:]
  private var continuing: Set<ReplicaID> = []
  /// What each author had said that it had merged of others.
  private var seen: [ReplicaID: VersionVector] = [:]
  /// Whether a copy of a file may have taken another id, and with it operations that name what the former had
  /// seen.
  private let hasCopies: Bool
  private(set) var violation: String?

  /// - Parameter operations: of each author in the order of their numbers.
  init(_ operations: [SyncOperation], deletes: DeleteRule, hasCopies: Bool) throws {
    (self.deletes, self.hasCopies) = (deletes, hasCopies)
    for operation in operations { try add(operation) }
  }

  private mutating func add(_ operation: SyncOperation) throws {
    let envelope = operation.envelope
    for (replica, sequence) in envelope.seen.sequences {
      let known = seen[envelope.replica]?[replica] ?? 0
      seen[envelope.replica, default: VersionVector()][replica] = max(known, sequence)
    }
    if let last = times[envelope.replica],
      continuing.contains(envelope.replica) ? last != envelope.time : last >= envelope.time
    {
      violation = "INV-11: the times of \(envelope.replica) do not increase"
    }
    times[envelope.replica] = envelope.time
    if envelope.continues {
      continuing.insert(envelope.replica)
    } else {
      continuing.remove(envelope.replica)
    }
    var row = BodyRow()
    try operation.forEachBlock { block, reader in
      while try reader.nextRow(&row, of: block) {
        let table = SimulatedFile.firstName(of: block.table)
        let key = "\(table)/\(row.key[0].value?.string ?? "")"
        let isDelete = row.kind == .delete
        check(row.covered, in: key, by: envelope)
        changes[key, default: []].append(
          Change(
            version: SimulatedFile.firstVersion(ofTable: block.table), isDelete: isDelete,
            isInsert: row.kind == .insert, life: isDelete ? row.life - 1 : row.life,
            time: envelope.time, replica: envelope.replica, sequence: envelope.sequence,
            covered: row.covered))
        for (index, column) in block.columns.enumerated()
        where index < row.values.count && row.isCarried[index] {
          let content = ModelContent(row.values[index].value ?? .null, rule: column.rule)
          for named in content.named { check(named, in: "\(key).\(column.name)", by: envelope) }
          writes[key, default: []].append(
            Write(
              version: SimulatedFile.firstVersion(ofColumn: column.name, in: block.table),
              life: row.life, time: envelope.time, replica: envelope.replica,
              sequence: envelope.sequence, column: column.name, rule: column.rule,
              content: content))
        }
      }
    }
  }

  /// Who names what it had not seen takes from others what they will write: the merge has to believe it, and
  /// all would agree.
  private mutating func check(
    _ named: VersionVector, in place: String, by envelope: SyncOperation.Envelope
  ) {
    if hasCopies { return }
    for (replica, sequence) in named.sequences where replica != envelope.replica {
      if sequence > seen[envelope.replica]?[replica] ?? 0 {
        violation =
          violation
          ?? "INV-07: operation \(envelope.sequence) of \(envelope.replica) names \(sequence) of "
          + "\(replica) in \(place), which its author had not seen"
      }
    }
    if named[envelope.replica] > envelope.sequence {
      violation = violation ?? "INV-07: \(envelope.replica) names in \(place) what it will write"
    }
  }

  // MARK: - What operations carry

  /// - Parameter ids: authors, and up to which number they are meant.
  func sum(of key: String, by ids: [ReplicaID: UInt64]) -> Int64 {
    carried(key, ids).reduce(0) { sum, write in
      guard write.rule == 1, case .integer(let number) = write.content.value else { return sum }
      return sum + number
    }
  }

  func texts(of key: String, by ids: [ReplicaID: UInt64]) -> Set<String> {
    Set(carried(key, ids).compactMap(\.content.value.string))
  }

  /// What was inserted into the row's texts and added to its sets.
  func pieces(of key: String, by ids: [ReplicaID: UInt64]) -> Set<Intents.Piece> {
    carried(key, ids).reduce(into: []) { $0.formUnion($1.content.pieces) }
  }

  /// Whether several writes insert it: a difference of texts does not keep a few letters that stand
  /// between larger edits, and inserts them anew.
  func isInsertedAgain(_ piece: Intents.Piece, in key: String) -> Bool {
    (writes[key] ?? []).count { $0.content.pieces.contains(piece) } > 1
  }

  /// Of each author the value that it wrote last.
  func lastValues(of column: String, in key: String, by ids: [ReplicaID: UInt64]) -> Set<
    SQLiteValue
  > {
    var last: [ReplicaID: (sequence: UInt64, value: SQLiteValue)] = [:]
    for write in carried(key, ids)
    where write.column == column && write.sequence >= last[write.replica]?.sequence ?? 0 {
      last[write.replica] = (write.sequence, write.content.value)
    }
    return Set(last.values.map(\.value))
  }

  /// What anybody wrote.
  func values(of column: String, in key: String) -> Set<SQLiteValue> {
    Set((writes[key] ?? []).filter { $0.column == column }.map(\.content.value))
  }

  /// The row's first life in which somebody wrote a text that is written once.
  func life(of key: String, showing text: String) -> UInt32? {
    (writes[key] ?? []).filter { $0.content.value.string == text }.map(\.life).min()
  }

  /// The row's last life that one of the authors ended.
  func lastEnd(of key: String, by ids: [ReplicaID: UInt64]) -> UInt32 {
    (changes[key] ?? []).filter { $0.isDelete && $0.sequence <= ids[$0.replica] ?? 0 }
      .map(\.life).max() ?? 0
  }

  private func carried(_ key: String, _ ids: [ReplicaID: UInt64]) -> [Write] {
    (writes[key] ?? []).filter { $0.sequence <= ids[$0.replica] ?? 0 }
  }

  // MARK: - What is merged of them

  /// What a release of the app makes of all operations. An older one leaves out the tables that it lacks, under
  /// their names, and the columns; that a newer one changed such a column alone is a change of the row to it as
  /// well. Nothing else is left out: both releases have the same constraints, so that none of them holds aside
  /// what the other shows.
  func rows(in version: Int) -> [String: Row] {
    let changes = changes.compactMapValues { all in
      let known = all.filter { $0.version <= version }
      return known.isEmpty ? nil : known
    }
    var rows = statedRows(changes, version)
    func created(_ key: String) -> (HybridTime, ReplicaID) {
      changes[key]!.filter { $0.isInsert && $0.life == rows[key]!.life }
        .map { ($0.time, $0.replica) }.max { $0 < $1 } ?? (.zero, changes[key]![0].replica)
    }
    let alive = rows.filter(\.value.isShown).map { (key: $0.key, created: created($0.key)) }
    var taken: Set<SQLiteValue> = []
    for (key, _) in alive.sorted(by: {
      $0.created == $1.created ? $0.key < $1.key : $0.created < $1.created
    }) {
      let place = rows[key]!.cells["u"] ?? .null
      rows[key]!.isShown = place == .null || taken.insert(place).inserted
    }
    return rows
  }

  /// Rows without regard to whether they collide.
  private func statedRows(_ changes: [String: [Change]], _ version: Int) -> [String: Row] {
    changes.reduce(into: [:]) { rows, entry in
      let deletes = entry.key.hasPrefix("item/") ? deletes : .deleteWins
      let life = entry.value.map(\.life).max()!
      let last = entry.value.filter { $0.life == life }
      let (ends, written) = (last.filter(\.isDelete), last.filter { !$0.isDelete })
      let isDeleted = !ends.isEmpty && written.allSatisfy { isCovered($0, by: ends, deletes) }
      // Where nothing is kept, a deleted row is in the life behind its last.
      let isGone = isDeleted && !deletes.keepsContent
      let known = (writes[entry.key] ?? []).filter { $0.life == life && $0.version <= version }
      let current = isGone ? [] : known
      let cells = Dictionary(grouping: current, by: \.column).mapValues(Self.merged)
      rows[entry.key] = Row(life: isGone ? life + 1 : life, isShown: !isDeleted, cells: cells)
    }
  }

  private func isCovered(_ write: Change, by ends: [Change], _ deletes: DeleteRule) -> Bool {
    ends.contains { end in
      switch deletes.kind {
      case .deleteWins: true
      case .updateWins: end.covered[write.replica] >= write.sequence
      case .lastWriter: (write.time, write.replica) <= (end.time, end.replica)
      }
    }
  }

  private static func merged(_ writes: [Write]) -> SQLiteValue {
    switch writes[0].rule {
    case 1:
      return .integer(
        writes.reduce(0) { sum, write in
          if case .integer(let number) = write.content.value { sum + number } else { sum }
        })
    case 2: return writes.map(\.content.value).filter { $0 != .null }.max() ?? .null
    case 3: return writes.map(\.content.value).filter { $0 != .null }.min() ?? .null
    case 4: return mergedSet(writes)
    case 5: return mergedText(writes)
    default:
      return writes.max { ($0.time, $0.replica) < ($1.time, $1.replica) }!.content.value
    }
  }

  private static func mergedText(_ writes: [Write]) -> SQLiteValue {
    let changes = writes.compactMap { write in
      if case .text(let change) = write.content {
        (author: write.replica, sequence: write.sequence, change: change)
      } else {
        nil
      }
    }
    return .string(ModelText(changes).text)
  }

  /// An element is there when some addition of it is covered by no removal.
  private static func mergedSet(_ writes: [Write]) -> SQLiteValue {
    let changes = writes.compactMap { write in
      if case .set(let change) = write.content { (write, change) } else { nil }
    }
    let removed = changes.flatMap(\.1.removed)
    var present: Set<Int64> = []
    for (write, change) in changes {
      for case .integer(let number) in change.added {
        let isCovered = removed.contains {
          $0.element == .integer(number) && $0.additions[write.replica] >= write.sequence
        }
        if !isCovered { present.insert(number) }
      }
    }
    return .string("[\(present.sorted().map(String.init).joined(separator: ","))]")
  }
}
#endif
