import SeededRandom
import TernCore

/// One author's change to one row, in terms that every replica shares.
struct RowEvent {
  var author: Int
  var time: UInt64
  /// Of the author's operation.
  var sequence: UInt64
  var row: Int
  var kind: RowChange.Kind
  var life: UInt32
  /// Columns and their encoded values.
  var columns: [(column: Int, value: [UInt8])]
  /// Of a delete under `.updateWins`.
  var covered = VersionVector()

  /// The life of the row that it is about, where deletes keep the row.
  var keptLife: UInt32 { kind == .delete ? life - 1 : life }
}

/// What one replica makes of events: states, and the values that its table would show.
struct RowReplica {
  static let rules: [MergeRule] = [
    .lastWriter, .counter, .lastWriter, .max, .min, .order, .set,
  ]

  /// Authors in the order in which this replica met them, which differs between replicas.
  private(set) var authors: Authors
  private(set) var states: [Int: RowState] = [:]
  private(set) var values: [Int: [Int: [UInt8]]] = [:]

  static func id(_ author: Int) -> ReplicaID {
    // Not in the order of their numbers.
    ReplicaID(high: UInt64(author) &* 0x9E37_79B9_7F4A_7C15, low: UInt64(author))
  }

  let deletes: DeleteRule

  init(_ own: Int, deletes: DeleteRule) {
    self.deletes = deletes
    authors = Authors([Self.id(own)])
  }

  /// One that has all authors from the beginning.
  init(knowing authors: some Sequence<Int>, deletes: DeleteRule) {
    self.deletes = deletes
    self.authors = Authors(authors.map { Self.id($0) })
  }

  mutating func merge(_ event: RowEvent) throws {
    let stamp = Stamp(
      time: HybridTime(rawValue: event.time), author: authors.add(Self.id(event.author)))
    var state = states[event.row] ?? RowState(life: 0)
    let change = RowChange(
      kind: event.kind, life: event.life, stamp: stamp, sequence: event.sequence,
      covered: event.covered)
    let effect = state.begin(change, deletes: deletes, authors: authors)
    if effect == .beaten { return }
    if effect != .stays { values[event.row] = [:] }
    for (column, bytes) in event.columns {
      let isShown = try bytes.withUnsafeBytes { buffer in
        var reader = ByteReader(buffer)
        return try state.mergeColumn(
          UInt32(column), rule: Self.rules[column], value: reader.value("value"), stamp: stamp,
          turn: Turn(event.sequence), authors: authors)
      }
      if isShown { values[event.row, default: [:]][column] = bytes }
    }
    if event.kind == .insert { state.finishInsert(stamp, rules: Self.rules, authors: authors) }
    state.settle(deletes, after: change, authors: authors)
    states[event.row] = state
  }

  /// Takes in what another one has whose authors have the same numbers.
  ///
  /// - Parameter isBehind: whether the other one has seen more of an author.
  mutating func join(_ other: RowReplica, isBehind: (UInt32) -> Bool) throws {
    for (row, theirs) in other.states {
      let mine = states[row] ?? RowState(life: 0)
      let joined = try mine.joined(
        with: theirs, isBehind: isBehind, rules: Self.rules, deletes: deletes, authors: authors)
      for column in Self.rules.indices {
        let stamp = joined.stamp(of: UInt32(column))
        let isTheirs = theirs.life == joined.life && theirs.stamp(of: UInt32(column)) == stamp
        if isTheirs { values[row, default: [:]][column] = other.values[row]?[column] }
      }
      states[row] = joined
    }
  }

  // MARK: - Canonical form

  struct Written: Hashable {
    var value: String
    var time: HybridTime
    var author: ReplicaID
  }

  struct Row: Hashable {
    var life: UInt32
    var time: HybridTime
    var author: ReplicaID?
    var isDeleted: Bool
    var columns: [Int: Written]
  }

  var canonical: [Int: Row] {
    states.mapValues { state in
      Row(
        life: state.life, time: state.stamp.time,
        author: state.stamp == .zero ? nil : authors.ids[Int(state.stamp.author)],
        isDeleted: !state.isPresent, columns: [:])
    }.reduce(into: [:]) { rows, entry in
      var row = entry.value
      let state = states[entry.key]!
      for column in Self.rules.indices {
        guard state.isAlive, let stamp = state.stamp(of: UInt32(column)) else { continue }
        row.columns[column] = Written(
          value: shown(state, row: entry.key, column), time: stamp.time,
          author: authors.ids[Int(stamp.author)])
      }
      rows[entry.key] = row
    }
  }

  private func shown(_ state: RowState, row: Int, _ column: Int) -> String {
    switch state.content(of: UInt32(column)) {
    case .counter(let sum, _): "\(sum.total)"
    case .extreme(let value, _): "\(value)"
    case .set(let elements, _): "\(elements.json)"
    default: "\(values[row]?[column] ?? [])"
    }
  }

  /// A line for each row and column that differs.
  static func differences(_ merged: [Int: Row], _ expected: [Int: Row]) -> [String] {
    Set(merged.keys).union(expected.keys).flatMap { key -> [String] in
      guard let left = merged[key], let right = expected[key] else { return ["row \(key)"] }
      let heads = [left, right].map { "\($0.life) \($0.time) \($0.isDeleted)" }
      var lines = heads[0] == heads[1] && left.author == right.author ? [] : ["row \(heads)"]
      for column in rules.indices where left.columns[column] != right.columns[column] {
        lines.append(
          "row \(key), column \(column): merged \(String(describing: left.columns[column])), "
            + "expected \(String(describing: right.columns[column]))")
      }
      return lines
    }
  }

  /// A sentence for everything that the normal form rules out.
  func abnormalities() -> [String] {
    states.flatMap { row, state in
      var found: [String] = []
      let columns = state.cells.map(\.column)
      if zip(columns, columns.dropFirst()).contains(where: { $0 >= $1 }) {
        found.append("row \(row) has cells out of order")
      }
      if !state.isAlive, !state.cells.isEmpty { found.append("dead row \(row) has cells") }
      for cell in state.cells {
        let isCovered = cell.column < state.covered
        switch cell.content {
        case .stamped(state.stamp) where isCovered:
          found.append("row \(row) says twice who wrote column \(cell.column)")
        case .unset where !isCovered:
          found.append("row \(row) says that column \(cell.column) beyond its stamp is unset")
        default: break
        }
      }
      return found
    }
  }
}

/// What a few replicas did to a few rows, each knowing some of what the others did.
struct RowHistory {
  private(set) var events: [RowEvent] = []
  let deletes: DeleteRule

  init(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    deletes = DeleteRule(DeleteRule.Kind.allCases.randomElement(using: &generator)!)
    let deletes = deletes
    let count = Int.random(in: 2...5, using: &generator)
    let rows = Int.random(in: 1...3, using: &generator)
    var replicas = (0..<count).map { RowReplica($0, deletes: deletes) }
    var known = Array(repeating: Array(repeating: 0, count: count), count: count)
    var logs = Array(repeating: [RowEvent](), count: count)
    var clocks = Array(repeating: UInt64(0), count: count)
    for _ in 0..<Int.random(in: 10...40, using: &generator) {
      let author = Int.random(in: 0..<count, using: &generator)
      if Bool.random(using: &generator) {
        let other = Int.random(in: 0..<count, using: &generator)
        guard other != author, known[author][other] < logs[other].count else { continue }
        let event = logs[other][known[author][other]]
        known[author][other] += 1
        clocks[author] = max(clocks[author], event.time)
        try replicas[author].merge(event)
        continue
      }
      // Times are small, so that many are equal.
      clocks[author] += UInt64.random(in: 1...3, using: &generator)
      let row = Int.random(in: 0..<rows, using: &generator)
      let event = Self.event(
        by: author, at: clocks[author], sequence: UInt64(logs[author].count + 1), row: row,
        replicas[author].states[row], &generator, replicas[author].authors, deletes)
      try replicas[author].merge(event)
      logs[author].append(event)
      events.append(event)
    }
  }

  private static func event(
    by author: Int, at time: UInt64, sequence: UInt64, row: Int, _ state: RowState?,
    _ generator: inout SeededGenerator, _ authors: Authors, _ deletes: DeleteRule
  ) -> RowEvent {
    let life = state?.life ?? 0
    let isAlive = state?.isPresent ?? false
    if isAlive, Int.random(in: 0..<4, using: &generator) == 0 {
      return RowEvent(
        author: author, time: time, sequence: sequence, row: row, kind: .delete, life: life + 1,
        columns: [],
        covered: deletes == .updateWins ? state!.seenWrites(authors: authors) : VersionVector())
    }
    let isInsert = !isAlive || Int.random(in: 0..<6, using: &generator) == 0
    // An author with an older schema knows fewer columns.
    let width = Int.random(in: 1...RowReplica.rules.count, using: &generator)
    let columns = (0..<width).filter { _ in isInsert || Bool.random(using: &generator) }
    return RowEvent(
      author: author, time: time, sequence: sequence, row: row,
      kind: isInsert ? .insert : .update, life: isAlive ? life : state?.nextLife ?? 1,
      columns: columns.map { column in
        guard RowReplica.rules[column] == .set else {
          return (column, Self.value(RowReplica.rules[column], &generator))
        }
        let elements = isAlive ? state!.elements(of: UInt32(column)) : ElementSet()
        return (column, Self.change(of: elements, &generator))
      })
  }

  private static func change(
    of elements: ElementSet, _ generator: inout SeededGenerator
  ) -> [UInt8] {
    let all: [SQLiteValue] = [1, 2.5, "a", "b", .string("ä\"\\\u{1}"), -3]
    let wanted = all.filter { _ in Bool.random(using: &generator) }
    let change = elements.change(to: wanted, isComplete: Bool.random(using: &generator))
    var writer = ByteWriter()
    (change ?? SetChange(added: [])).bytes.withUnsafeBytes { writer.append(.blob, bytes: $0) }
    return writer.bytes
  }

  private static func value(_ rule: MergeRule, _ generator: inout SeededGenerator) -> [UInt8] {
    var writer = ByteWriter()
    if rule == .counter {
      writer.append(wide: Int128.random(in: -5...5, using: &generator))
    } else {
      // Few values, so that many are equal; 1 and 1.0, 0.0 and −0.0 are told apart.
      let values: [SQLiteValue] = [1, 1.0, 0.0, -0.0, .null, "a", .blob([1]), -3]
      writer.append(values.randomElement(using: &generator)!)
    }
    return writer.bytes
  }

  /// The events in an order that keeps each author's own.
  func shuffled(using generator: inout SeededGenerator) -> [RowEvent] {
    var queues = Dictionary(grouping: events, by: \.author).values.map { $0[...] }
    queues.sort { $0.first!.author < $1.first!.author }
    var order: [RowEvent] = []
    while !queues.isEmpty {
      let index = Int.random(in: queues.indices, using: &generator)
      order.append(queues[index].removeFirst())
      if queues[index].isEmpty { queues.remove(at: index) }
    }
    return order
  }

  // MARK: - The model

  /// What the rules say of all events at once, without any order of arrival.
  func expected() -> [Int: RowReplica.Row] {
    Dictionary(grouping: events, by: \.row).mapValues { events in
      let keeps = deletes.keepsContent
      let life = events.map { keeps ? $0.keptLife : $0.life }.max()!
      let current = events.filter { $0.life == life }
      let ends = events.filter { keeps && $0.life == life + 1 }
      let isOlder = { (left: RowEvent, right: RowEvent) in
        left.time != right.time
          ? left.time < right.time : RowReplica.id(left.author) < RowReplica.id(right.author)
      }
      let first = current.filter { $0.kind != .update }.max(by: isOlder)
      var row = RowReplica.Row(
        life: life, time: HybridTime(rawValue: first?.time ?? 0),
        author: first.map { RowReplica.id($0.author) },
        isDeleted: keeps ? isDeleted(current, by: ends) : life.isMultiple(of: 2), columns: [:])
      for column in RowReplica.rules.indices {
        row.columns[column] = Self.expected(column, current.sorted(by: isOlder))
      }
      return row
    }
  }

  private func isDeleted(_ writes: [RowEvent], by deletes: [RowEvent]) -> Bool {
    if deletes.isEmpty { return false }
    return writes.allSatisfy { write in
      let author = RowReplica.id(write.author)
      return deletes.contains { delete in
        self.deletes == .updateWins
          ? delete.covered[author] >= write.sequence
          : (write.time, author) <= (delete.time, RowReplica.id(delete.author))
      }
    }
  }

  private static func expected(_ column: Int, _ events: [RowEvent]) -> RowReplica.Written? {
    let writes = events.compactMap { event in
      event.columns.first { $0.column == column }.map { (event: event, bytes: $0.value) }
    }
    guard var winner = writes.last else { return nil }
    var shown = "\(winner.bytes)"
    let rule = RowReplica.rules[column]
    if rule == .counter {
      shown = "\(writes.reduce(Int128(0)) { $0 + read($1.bytes).wide })"
    } else if rule == .set {
      shown = expectedSet(writes.map { ($0.event, $0.bytes) })
    } else if !rule.isLastWriter {
      let present = writes.filter { read($0.bytes).value != .null }
      let candidates = present.isEmpty ? writes : present
      winner = candidates.reduce(candidates[0]) { best, next in
        let (old, new) = (read(best.bytes).value, read(next.bytes).value)
        return (rule == .max ? old < new : new < old) ? next : best
      }
      shown = "\(read(winner.bytes).value)"
    }
    return RowReplica.Written(
      value: shown, time: HybridTime(rawValue: winner.event.time),
      author: RowReplica.id(winner.event.author))
  }

  /// An element is there when some addition is covered by no removal.
  private static func expectedSet(_ writes: [(event: RowEvent, bytes: [UInt8])]) -> String {
    let changes = writes.map { write in
      guard case .blob(let bytes) = read(write.bytes).value else { preconditionFailure() }
      return (write.event, try! bytes.withUnsafeBytes { try SetChange($0) })
    }
    let removed = changes.flatMap(\.1.removed)
    var expected = ElementSet()
    for (event, change) in changes {
      let author = RowReplica.id(event.author)
      let stays = change.added.filter { element in
        !removed.contains {
          $0.element == element && $0.additions[author] >= event.sequence
        }
      }
      // One replica an addition, so that the set keeps them apart.
      _ = expected.apply(
        SetChange(added: stays), by: RowReplica.id(1000 + Int(event.sequence) * 10 + event.author),
        Turn(1))
    }
    return "\(expected.json)"
  }

  private static func read(_ bytes: [UInt8]) -> (wide: Int128, value: SQLiteValue) {
    bytes.withUnsafeBytes { buffer in
      var reader = ByteReader(buffer)
      let value = try! reader.value("value")
      return (value.wide ?? 0, value.value ?? .null)
    }
  }
}
