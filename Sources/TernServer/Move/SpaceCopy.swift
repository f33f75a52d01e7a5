#if Server
@_spi(Rehearsal) import TernCore

/// Copies the rows of a space that moves, as they are stored, to where nobody is given them yet.
struct SpaceCopy {
  let move: SpaceMove
  private var space: SpaceName { move.space }

  /// How much is read and written at once: what other short transactions do.
  private var rowsAtOnce: Int { move.limits.trimmedOperations }
  private var bytesAtOnce: Int { move.limits.trimmedBytes }

  // MARK: - Ahead

  /// Makes the space in the target, where it is not there from an earlier run.
  func begin() throws {
    guard try move.standing(in: move.target) == nil else { return }
    try move.willDo(.arrive)
    guard let standing = try move.standing(in: move.source) else { throw move.interrupted() }
    let (tokens, row) = try read { (try $0.rows(of: .token), try $0.rows(of: .space)[0]) }
    for token in tokens {
      guard let digest = token[0].bytes else { continue }
      guard let known = try move.target.token(TokenDigest(stored: digest)) else { continue }
      throw SpaceMoveError(
        .taken,
        "the store that space \(space) is to go to has one of its tokens, for space \(known.space); "
          + "revoke it there with 'tern token revoke'")
    }
    try move.target.updateRows(of: space) { transaction, rows in
      guard let spaces = try transaction.spacesBefore else { throw move.interrupted() }
      guard spaces < move.limits.spaces else {
        throw RemoteError(
          .tooManySpaces, "spaces: the store has \(spaces) spaces, its limit; move it elsewhere")
      }
      try rows.set(
        SpaceStanding(epoch: standing.epoch, phase: .arriving, peer: move.source.epoch))
      // So that whoever asks too early is told to come again, and not that the token is unknown.
      try rows.replaceRows(of: .token, with: tokens)
      // Of what has lost its bytes by now none are copied.
      try rows.setSpaceRow(SpaceNumbers(row).trimmedOnly)
    }
  }

  /// Copies what can be copied while the space is served, until little is left: what is pushed
  /// while the last of it is copied.
  func copyAhead() throws {
    let end = try read { try $0.rows(of: .space)[0][0].integer ?? 0 }
    while try copyOperations(), try copied() < end {}
    try copySnapshots()
    _ = try copyOperations()
  }

  /// Up to which position the target has operations.
  private func copied() throws -> Int64 {
    try readTarget { try $0.rows(of: .space)[0][0].integer ?? 0 }
  }

  // MARK: - The rest

  /// Copies what is left of a space that is frozen, and compares.
  func copyRest() throws {
    // Rows of snapshots that nobody can have any more are not copied, and so not counted either.
    while try move.source.update(space, { try $0.removeDropped(contentBytes: bytesAtOnce) }) {}
    while try copyOperations() {}
    try copySnapshots()
    while try removeTrimmed() {}
    try settle()
    try move.willDo(.compare)
    if !Planted.isActive(.moveUncompared) { try SpaceComparison(move: move).check() }
  }

  /// Copies some, if there are any more. Returns whether there were.
  private func copyOperations() throws -> Bool {
    let (start, chain) = try readTarget { rows in
      let start = try rows.rows(of: .space)[0][0].integer ?? 0
      return (start, try rows.chain(at: start))
    }
    let operations = try read {
      try $0.operations(after: start, rows: rowsAtOnce, contentBytes: bytesAtOnce)
    }
    guard let last = operations.last?[0].integer else { return false }
    try OperationLinks(space: space, start: start, chain: chain).check(operations)
    try move.willDo(.copyOperations(after: start))
    try move.room(operations.reduce(0) { $0 + ($1[5].bytes?.count ?? 0) + 200 })
    try update { transaction, rows in
      // Another run may have been first.
      guard transaction.position == UInt64(start) else { throw move.interrupted() }
      try rows.add(operations: operations)
      var row = try rows.rows(of: .space)[0]
      row[0] = .integer(last)
      try rows.setSpaceRow(row)
    }
    return true
  }

  // MARK: - Snapshots

  /// Makes the target's snapshots those of the source, with parts of the same digests.
  private func copySnapshots() throws {
    let wanted = try read { try $0.snapshots() }.filter { $0.label != nil }
    try move.willDo(.copySnapshots)
    let copies = try update { _, rows in
      let known = Self.pairs(wanted, try rows.snapshots())
      try rows.forgetSnapshots()
      for snapshot in wanted { try rows.write(snapshot.row, over: known[snapshot.id]) }
      return Self.pairs(wanted, try rows.snapshots().filter { $0.label != nil })
    }
    for snapshot in wanted {
      guard let copy = copies[snapshot.id] else { throw move.interrupted() }
      try copyParts(of: snapshot, to: copy)
    }
    // Those that the source has no more.
    while try update({ transaction, _ in
      try transaction.removeDropped(contentBytes: bytesAtOnce)
    }) {}
  }

  /// The target's row for each of the source's: of one name, the first for the first. Where that is
  /// another one, its parts tell.
  private static func pairs(
    _ wanted: [RawSnapshot], _ known: [RawSnapshot]
  ) -> [Int64: Int64] {
    var pairs: [Int64: Int64] = [:]
    let rest = Dictionary(grouping: known, by: \.label)
    for (label, snapshots) in Dictionary(grouping: wanted, by: \.label) {
      for (snapshot, copy) in zip(snapshots, rest[label] ?? []) { pairs[snapshot.id] = copy.id }
    }
    return pairs
  }

  private func copyParts(of snapshot: RawSnapshot, to copy: Int64) throws {
    let wanted = try read { try $0.parts(of: snapshot.id) }
    let known = Set(try readTarget { try $0.parts(of: copy) })
    for part in known.subtracting(wanted) {
      try update { _, rows in try rows.removePart(part[0].integer ?? 0, of: copy) }
    }
    for part in wanted where !known.contains(part) {
      let number = part[0].integer ?? 0
      // It may be gone by now, and then its snapshot is no more in the next look at all of them.
      guard let row = try read({ try $0.part(number, of: snapshot.id) }) else { continue }
      let bytes = row[2].bytes ?? []
      guard PartDigest(part: bytes).bytes == row[1].bytes else {
        throw SpaceMoveError(
          .damaged,
          "space \(space): the digest of part \(number) of snapshot \(snapshot.label ?? "") is not that "
            + "of its bytes; see 'tern doctor'")
      }
      try move.willDo(.copyPart(number))
      try move.room(bytes.count)
      try update { _, rows in
        guard try rows.part(number, of: copy) == nil else { throw move.interrupted() }
        try rows.add(part: row, of: copy)
      }
    }
  }

  // MARK: - Small rows

  /// Removes bytes that were copied, and that the source has removed since. Returns whether there
  /// are more.
  private func removeTrimmed() throws -> Bool {
    try move.willDo(.trim)
    let emptied = try read { SpaceNumbers(try $0.rows(of: .space)[0]).emptied }
    return try update { transaction, rows in
      var numbers = SpaceNumbers(try rows.rows(of: .space)[0])
      numbers.allowRemoval(through: emptied)
      try rows.setSpaceRow(numbers.row)
      return try transaction.removeTrimmed(
        through: UInt64(emptied), operations: rowsAtOnce, contentBytes: bytesAtOnce)
    }
  }

  private func settle() throws {
    let (row, tables) = try read { rows in
      (try rows.rows(of: .space)[0], try SpaceTable.small.map { ($0, try rows.rows(of: $0)) })
    }
    try move.willDo(.settle)
    try update { transaction, rows in
      guard transaction.position == SpaceNumbers(row).position else { throw move.interrupted() }
      for (table, content) in tables { try rows.replaceRows(of: table, with: content) }
      try rows.setSpaceRow(row)
    }
  }

  // MARK: - Transactions

  private func read<Value>(_ body: (RawRows) throws -> Value) throws -> Value {
    guard let value = try move.source.readRows(of: space, body) else { throw move.interrupted() }
    return value
  }

  private func readTarget<Value>(_ body: (RawRows) throws -> Value) throws -> Value {
    guard let value = try move.target.readRows(of: space, body) else { throw move.interrupted() }
    return value
  }

  /// Writes into the target, as long as it is where this move copies to.
  private func update<Value: Sendable>(
    _ body: (any SpaceTransaction, RawRows) throws -> Value
  ) throws -> Value {
    try move.target.updateRows(of: space) { transaction, rows in
      let standing = transaction.standing
      guard standing.phase == .arriving, standing.peer == move.source.epoch else {
        throw move.interrupted()
      }
      return try body(transaction, rows)
    }
  }
}

/// The numbers of a space's row.
struct SpaceNumbers {
  private(set) var row: [StoredValue]

  /// - Parameter row: of ``SpaceTable/space``.
  init(_ row: [StoredValue]) { self.row = row }

  private subscript(name: String) -> StoredValue {
    get { row[SpaceTable.space.index(of: name)] }
    set { row[SpaceTable.space.index(of: name)] = newValue }
  }

  var position: UInt64 { UInt64(clamping: self["position"].integer ?? 0) }
  var emptied: Int64 { self["emptied"].integer ?? 0 }

  /// Those of a space of which nothing is copied yet.
  var trimmedOnly: [StoredValue] {
    var begun = SpaceNumbers(row)
    for column in SpaceTable.space.columns {
      let isOptional = column.name.hasPrefix("quota_") || column.name.hasSuffix("_ms")
      begun[column.name] = isOptional ? .null : .integer(0)
    }
    for name in ["trimmed", "released", "emptied"] { begun[name] = self["emptied"] }
    return begun.row
  }

  /// So that bytes up to a position can be removed.
  mutating func allowRemoval(through position: Int64) {
    for name in ["trimmed", "released"] { self[name] = .integer(position) }
  }
}

extension SpaceTable {
  func index(of column: String) -> Int {
    guard let index = columns.firstIndex(where: { $0.name == column }) else {
      fatalError("the table \(name) has a column \(column)")
    }
    return index
  }
}
#endif
