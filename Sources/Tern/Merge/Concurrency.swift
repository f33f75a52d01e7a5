import TernCore
import TernDatabase

/// Tells whether an arriving operation's author had seen a write that stands here, and counts
/// where it had not.
final class Concurrency {
  private let transaction: StoreTransaction
  private var seen: [UInt32: [UInt32: UInt64]] = [:]
  /// By the arriving author: the time up to which it had seen another.
  private var seenTimes: [UInt32: [UInt32: HybridTime]] = [:]
  /// What was here of authors before a snapshot took the place of their operations.
  private var before: [UInt32: (sequence: UInt64, time: HybridTime)] = [:]
  private(set) var counts: [ConflictKind: Int] = [:]
  let losses: Losses

  init(_ transaction: StoreTransaction) {
    self.transaction = transaction
    losses = Losses(transaction)
  }

  /// Takes in what an operation's author says that it had merged.
  func note(_ difference: VersionVector, by author: UInt32) throws {
    if difference.sequences.isEmpty { return }
    let statement = try transaction.statement(
      """
      INSERT INTO \(transaction.tables.seen) (author, other, sequence) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET sequence = max(sequence, excluded.sequence)
      """)
    for (replica, sequence) in difference.sequences {
      guard let other = transaction.authors.index(of: replica) else { continue }
      statement.bind(1, Int64(author))
      statement.bind(2, Int64(other))
      statement.bind(3, raw: sequence)
      try statement.run()
    }
    seen[author] = nil
    seenTimes[author] = nil
  }

  /// A snapshot is about to take the place of an author's operations. What this replica wrote
  /// before it was loaded is told from those that it brings.
  func noteEnd(_ sequence: UInt64, at time: HybridTime, of author: UInt32) {
    before[author] = (sequence, time)
  }

  func isConcurrent(_ current: Stamp, with new: Stamp) throws -> Bool {
    guard current.author != new.author, current != .zero else { return false }
    return try current.time > seenTime(of: current.author, by: new.author)
  }

  func count(_ kind: ConflictKind) {
    counts[kind, default: 0] += 1
  }

  /// - Returns: whether the two writes are concurrent.
  @discardableResult
  func count(_ kind: ConflictKind, _ current: Stamp, against new: Stamp) throws -> Bool {
    guard try isConcurrent(current, with: new) else { return false }
    count(kind)
    return true
  }

  /// - Returns: whether the two writes are concurrent, where the rule lets one lose.
  func count(_ rule: MergeRule, _ current: Stamp, against new: Stamp) throws -> Bool {
    let kind: ConflictKind
    switch rule.kind {
    case .lastWriter, .order: kind = .lastWriter
    case .counter: kind = .counter
    case .maximum, .minimum: kind = .extreme
    // Whatever is added stays, and whatever was seen goes: nothing is lost.
    case .set, .text: return false
    }
    return try count(kind, current, against: new)
  }

  func save() throws {
    try losses.finish()
    try transaction.conflicts.add(counts)
  }

  private func seenTime(of other: UInt32, by author: UInt32) throws -> HybridTime {
    if let time = seenTimes[author]?[other] { return time }
    let sequence = try seenSequence(of: other, by: author)
    let operation = try transaction.log.operation(LogID(author: other, sequence: sequence))
    // Of what the log has no longer, the last that it had: later, so that less
    // counts as concurrent.
    let row = try transaction.authorTable.row(other)
    var earlier = sequence > 0 && sequence <= row.trimmed ? row.trimmedTime : .zero
    if let before = before[other], sequence <= before.sequence {
      earlier = min(earlier, before.time)
    }
    let time = operation?.envelope.time ?? earlier
    seenTimes[author, default: [:]][other] = time
    return time
  }

  private func seenSequence(of other: UInt32, by author: UInt32) throws -> UInt64 {
    if let known = seen[author] { return known[other] ?? 0 }
    let statement = try transaction.statement(
      "SELECT other, sequence FROM \(transaction.tables.seen) WHERE author = ?")
    statement.bind(1, Int64(author))
    defer { statement.reset() }
    var known: [UInt32: UInt64] = [:]
    while try statement.step() { known[UInt32(statement.int64(0))] = statement.raw(1) }
    seen[author] = known
    return known[other] ?? 0
  }
}
