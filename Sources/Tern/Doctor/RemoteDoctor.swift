import TernCore
import TernDatabase

/// Looks at what is known of remotes, at what waits for an undo and at the inbox.
struct RemoteDoctor {
  private let transaction: StoreTransaction
  private let findings: Findings
  private var tables: StoreTables { transaction.tables }

  init(_ transaction: StoreTransaction, _ findings: Findings) {
    (self.transaction, self.findings) = (transaction, findings)
  }

  func run() throws {
    try checkCursors()
    try checkOwn()
    if try checkNames() {
      for fork in try transaction.remotes.forks(transaction.authors.ids) {
        try findings.add(
          .fork, "the remote has another operation than is here",
          at: .init(author: fork.replica, sequence: fork.sequence, name: fork.remote))
      }
    }
    try checkInbox()
    try checkSplices()
  }

  /// A folder's cursor says of each author up to where it was given.
  private func checkCursors() throws {
    let bans = try transaction.remotes.bans()
    let select = try transaction.statement("SELECT id, cursor FROM \(tables.remote) ORDER BY id")
    defer { select.reset() }
    while try select.step() {
      guard let remote = select.value(0).value?.string, let text = select.value(1).value?.string,
        let cursor = FolderCursor(RemoteCursor(rawValue: text))
      else { continue }
      let forks = try transaction.remotes.forks(at: remote)
      for (replica, sequence) in cursor.given.sorted {
        let index = transaction.authors.index(of: replica)
        let stored = try index.map { try transaction.authorTable.row($0).stored } ?? 0
        // Of a banned one nothing more is taken, and of a copy nothing else.
        let taken = bans[replica].map { min(sequence, $0) } ?? sequence
        if taken <= stored || index.map({ forks[$0] != nil }) ?? false { continue }
        try findings.add(
          .cursor, "the remote's cursor is behind an operation that is not here",
          at: .init(author: replica, sequence: sequence, name: remote))
      }
    }
  }

  /// No remote can have more of this replica than it made itself.
  private func checkOwn() throws {
    let stored = transaction.authorTable.own.stored
    let select = try transaction.statement(
      """
      SELECT remote, max(sequence) FROM (
        SELECT remote, max(sequence, accepted) AS sequence FROM \(tables.offer)
        UNION ALL SELECT remote, sequence FROM \(tables.remoteHead) WHERE author = 0)
      GROUP BY remote HAVING max(sequence) > \(stored) ORDER BY remote
      """)
    defer { select.reset() }
    while try select.step() {
      try findings.add(
        .copied, "the remote has more of this replica than it made: another copy of it wrote on",
        at: .init(
          author: transaction.ownID, sequence: select.raw(1),
          name: select.value(0).value?.string))
    }
  }

  /// Authors are known by their number.
  private func checkNames() throws -> Bool {
    var isKnown = true
    let count = transaction.authors.ids.count
    let columns = [
      (tables.remoteHead, "author"), (tables.fork, "author"), (tables.seen, "author"),
      (tables.seen, "other"), (tables.inbox, "loser"), (tables.inbox, "winner"),
    ]
    for (table, column) in columns {
      let select = try transaction.statement(
        "SELECT count(*) FROM \(table) WHERE \(column) NOT BETWEEN 0 AND \(count - 1)")
      defer { select.reset() }
      guard try select.step(), select.int64(0) > 0 else { continue }
      isKnown = false
      try findings.add(
        .authors, "\(select.int64(0)) rows name replicas that are not known",
        at: .init(table: table, column: column))
    }
    return isKnown
  }

  private func checkInbox() throws {
    let select = try transaction.statement("SELECT id, tbl, key, content FROM \(tables.inbox)")
    defer { select.reset() }
    while try select.step() {
      do {
        _ = try PackedKey.values(select.blob(2))
        _ = try HeldTable.readContent(select.blob(3))
      } catch is WireError {
        try findings.add(
          .inbox, "the inbox's entry \(select.int64(0)) cannot be read")
      }
    }
  }

  private func checkSplices() throws {
    let select = try transaction.statement("SELECT id, tbl, key, delta FROM \(tables.splice)")
    defer { select.reset() }
    while try select.step() {
      do throws(WireError) {
        _ = try PackedKey.values(select.blob(2))
        _ = try TextDelta(stored: select.blob(3))
      } catch {
        try findings.add(.splice, "draft \(select.int64(0)) of a text cannot be read")
      }
    }
  }
}
