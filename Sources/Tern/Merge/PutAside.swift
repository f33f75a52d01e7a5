import TernCore
import TernDatabase

/// Operations of one author that merge together.
struct LogGroup: Hashable {
  let author: UInt32
  let sequences: ClosedRange<UInt64>
}

/// Groups that are in the log and passed on, and that are not in the state: whole (INV-06), with
/// the reason, so that one bad operation stops nobody.
///
/// Whether a body can be read follows from its bytes alone. All replicas put the same groups aside,
/// and merge them when a newer Tern can read them; a merge does not depend on their order.
extension StoreTransaction {
  func part(_ sequence: UInt64, of group: LogGroup) throws -> SyncOperation {
    guard let operation = try operation(LogID(author: group.author, sequence: sequence)) else {
      throw ReplicaError(.damaged, "the log lacks an operation that it acknowledged")
    }
    return operation
  }

  /// Why a group's bodies cannot be read, or `nil`.
  func bodyError(in group: LogGroup) throws -> WireError? {
    for sequence in group.sequences {
      if let error = try part(sequence, of: group).bodyError() { return error }
    }
    return nil
  }

  /// - Parameter time: of a group that waits for the clock.
  func putAside(_ group: LogGroup, until time: HybridTime? = nil, _ reason: String) throws {
    hasAside = true
    let statement = try statement(
      "REPLACE INTO \(tables.aside) (id, first, reason, due_ms) VALUES (?, ?, ?, ?)")
    statement.bind(1, LogID(author: group.author, sequence: group.sequences.upperBound).rawValue)
    statement.bind(2, raw: group.sequences.lowerBound)
    statement.bind(3, copy: .string(reason))
    if let time {
      hasFuture = true
      statement.bind(4, time.milliseconds - ClockLimit.toleratedMilliseconds)
    }
    try statement.run()
  }

  /// Those that could not be read, each author's in its order.
  func unreadableGroups() throws -> [LogGroup] {
    try groups("due_ms IS NULL")
  }

  func groups(_ condition: String) throws -> [LogGroup] {
    let select = try statement(
      "SELECT id, first FROM \(tables.aside) WHERE \(condition) ORDER BY id")
    defer { select.reset() }
    var groups: [LogGroup] = []
    while try select.step() {
      let last = LogID(rawValue: select.int64(0))
      groups.append(LogGroup(author: last.author, sequences: select.raw(1)...last.sequence))
    }
    return groups
  }

  /// Takes a group that was put aside into the state.
  func takeUp(_ group: LogGroup, _ pass: MergePass) throws {
    try pass.merge(group)
    let delete = try statement("DELETE FROM \(tables.aside) WHERE id = ?")
    delete.bind(1, LogID(author: group.author, sequence: group.sequences.upperBound).rawValue)
    try delete.run()
  }

  /// Up to which sequence all operations of an author are merged once this one is.
  func settled(before id: LogID) throws -> UInt64 {
    guard hasAside else { return id.sequence }
    let select = try statement(
      "SELECT min(first) FROM \(tables.aside) WHERE id > ? AND id < ?")
    select.bind(1, LogID(author: id.author, sequence: 0).rawValue)
    select.bind(2, id.rawValue)
    defer { select.reset() }
    guard try select.step(), !select.isNull(0) else { return id.sequence }
    return select.raw(0) - 1
  }

  func firstPutAside() throws -> OperationPutAside? {
    let select = try statement("SELECT id, reason FROM \(tables.aside) ORDER BY id LIMIT 1")
    defer { select.reset() }
    guard try select.step() else { return nil }
    let id = LogID(rawValue: select.int64(0))
    return OperationPutAside(
      replica: authors.ids[Int(id.author)], sequence: id.sequence,
      reason: select.value(1).value?.string ?? "")
  }
}
