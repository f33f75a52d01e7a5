import GRDB
@_spi(Rehearsal) import TernCore
import TernDatabase

/// A replica's durable state inside the app's own database, where the app's tables are.
///
/// Every method blocks for one transaction on the database's writer, which is also what makes the
/// store safe to share.
package final class SQLiteReplicaStore: ReplicaStore {
  let access: StoreAccess
  /// The app's database.
  package var database: any DatabaseWriter { access.database }
  var tables: StoreTables { access.tables }
  var sql: [TableSQL] { access.sql }
  /// How long operations stay in the log that every remote holds.
  let retention: Duration
  /// Where a new id comes from.
  let random: @Sendable () -> UInt64
  /// Yields whether something is noted, was put aside until now, or is to be settled.
  private let news: String

  init(_ access: StoreAccess, retention: Duration, random: @escaping @Sendable () -> UInt64) {
    (self.access, self.retention, self.random) = (access, retention, random)
    let tables = access.tables
    let noted = access.sql.map { "EXISTS (SELECT 1 FROM \($0.note.noteTable))" }
    let due = """
      EXISTS (
        SELECT 1 FROM \(tables.waiting) WHERE due_ms IS NOT NULL
        AND due_ms <= \(NoteSQL.milliseconds) + (SELECT correction_ms FROM \(tables.replica)))
      """
    let unsettled = "EXISTS (\(tables.statements.isUnsettled))"
    news = "SELECT \((noted + [due, unsettled]).joined(separator: " OR "))"
  }

  @discardableResult
  package func seal() throws -> Range<UInt64> {
    let (range, isWaitedFor) = try access.write { transaction in
      let range = try Seal.run(in: transaction)
      let isDue = try !transaction.dueGroups(remoteMilliseconds: 0).isEmpty
      return (range, try isDue || transaction.held.isUnsettled())
    }
    try CrashPoint.reach(.sealAfterCommit)
    if isWaitedFor { try access.settle() }
    return range
  }

  /// The same, without the write lock where there is nothing to do.
  @discardableResult
  func sealNews() throws -> Range<UInt64> {
    try hasNews() ? seal() : 0..<0
  }

  /// Reads a moment at which nothing is noted, without the write lock unless something is by then.
  func readSealed<T>(_ body: (StoreTransaction) throws -> T) throws -> T {
    let output: T? = try access.read { try SnapshotCut.hasNotes($0) ? nil : body($0) }
    if let output { return output }
    return try sealing { transaction in
      _ = try Seal.run(in: transaction)
      return try body(transaction)
    }
  }

  /// One transaction that may seal. What it sealed may be what a quarantined row was waiting for.
  func sealing<T>(_ body: (StoreTransaction) throws -> T) throws -> T {
    let (result, isWaitedFor) = try access.write { transaction in
      let last = transaction.authorTable.own.stored
      let result = try body(transaction)
      let hasSealed = transaction.authorTable.own.stored > last
      return (result, try hasSealed && transaction.held.isUnsettled())
    }
    if isWaitedFor { access.settleIfPossible() }
    return result
  }

  package func merge(
    _ page: PulledPage, from place: RemotePlace, until isOver: () -> Bool
  ) throws -> (MergeSummary, merged: Int) {
    do {
      return try merge(page, from: place, isCheckingBodies: false, isOver)
    } catch is WireError {
      // Some body cannot be read. Only now are all of them read once more, to find which.
      return try merge(page, from: place, isCheckingBodies: true, isOver)
    }
  }

  private func merge(
    _ page: PulledPage, from place: RemotePlace, isCheckingBodies: Bool, _ isOver: () -> Bool
  ) throws -> (MergeSummary, merged: Int) {
    var merged = 0
    var leavesChildren = false
    let summary = try access.write(withoutForeignKeys: true) { transaction in
      // What other copies wrote under the former id is not in the page, and its cursor is
      // behind it (INV-05).
      guard place.excluded == nil || place.excluded == transaction.ownID else {
        throw RemoteError(.unavailable, "this replica has another id since the page was asked for")
      }
      _ = try Seal.run(in: transaction)
      let summary = try transaction.triggers.merging {
        let pass = try MergePass(
          transaction, isCheckingBodies: isCheckingBodies,
          remoteMilliseconds: page.now?.milliseconds ?? 0,
          forks: RemoteForks(transaction, at: place.remoteID))
        try pass.takeUpDue()
        let skipped = Planted.isActive(.cursorEarly) && page.operations.count > 1 ? 1 : 0
        for operation in page.operations.dropLast(skipped) {
          let isBetweenGroups = merged == 0 || !page.operations[merged - 1].envelope.continues
          if isBetweenGroups, isOver(), merged > 0 { break }
          try pass.take(operation)
          merged += 1
        }
        merged += skipped
        try CrashPoint.reach(.mergeBeforeCursor)
        try pass.finish()
        return pass.summary
      }
      let isLast = merged == page.operations.count
      if isLast { try transaction.remotes.save(place) }
      if isLast && page.endsPull || Planted.isActive(.localCascadeEarly),
        !transaction.localReferences.isEmpty
      {
        leavesChildren = try transaction.goneParents.hasAny()
      }
      try CrashPoint.reach(.mergeBeforeCommit)
      return summary
    }
    try CrashPoint.reach(.mergeAfterCommit)
    if leavesChildren { try settleLocalChildren() }
    return (summary, merged)
  }

  package func versionVector() throws -> VersionVector {
    try access.heads("merged")
  }

  package func storedVersionVector() throws -> VersionVector {
    try access.heads("stored")
  }

  package func operations(lackedBy heads: VersionVector, maximumBytes: Int) throws
    -> [SyncOperation]
  {
    try access.read { try LackedOperations($0, maximumBytes: maximumBytes).read(heads) }
  }

  package func place(at remoteID: String) throws -> RemotePlace? {
    try access.read { try $0.remotes.place(at: remoteID) }
  }

  package func resetPlace(_ place: RemotePlace) throws {
    try access.write { try $0.remotes.save(place) }
  }

  package func offer(
    lackedBy heads: VersionVector, repeating repeated: Set<ReplicaID>, maximumBytes: Int,
    to remoteID: String
  ) throws -> [SyncOperation] {
    let lacked = { transaction in
      try LackedOperations(transaction, maximumBytes: maximumBytes)
        .read(heads, repeating: repeated, at: remoteID)
    }
    let known = try access.read { transaction in
      let operations = try lacked(transaction)
      let offered = try transaction.remotes.offered(to: remoteID)
      return operations.heads[transaction.ownID] <= offered ? operations : nil
    }
    if let known { return known }
    // Read again: another remote's clock may have given them new times in between.
    return try access.write { transaction in
      let operations = try lacked(transaction)
      let last = operations.heads[transaction.ownID]
      if try transaction.remotes.offered(to: remoteID) < last {
        try transaction.remotes.saveOffer(last, to: remoteID)
      }
      return operations
    }
  }

  package func noteAccepted(of sequence: UInt64, by remoteID: String) throws {
    guard try access.read({ try $0.remotes.accepted(by: remoteID) }) < sequence else { return }
    try access.write { try $0.remotes.saveAccepted(sequence, by: remoteID) }
  }

  package func restamp(after accepted: UInt64, at remoteID: String, nowMilliseconds: Int64) throws {
    try sealing { transaction in
      _ = try Seal.run(in: transaction)
      try Restamp(transaction).run(
        after: accepted, at: remoteID, nowMilliseconds: nowMilliseconds)
    }
  }

  package func correctClock(nowMilliseconds: Int64) throws -> Int64 {
    try sealing { transaction in
      let offset = try nowMilliseconds - transaction.clock.uncorrectedMilliseconds()
      let correction = abs(offset) > ClockLimit.toleratedMilliseconds ? offset : 0
      if abs(correction - transaction.clock.correctionMilliseconds) > 1000 {
        // Notes keep the clock that they were taken under.
        _ = try Seal.run(in: transaction)
        transaction.clock.correctionMilliseconds = correction
        try transaction.clock.save()
      }
      return offset
    }
  }

  package func note(_ authors: [ReplicaID: RemoteAuthor], at remoteID: String) throws {
    let known = try access.read { try $0.remotes.authors(at: remoteID) }
    if known == authors { return }
    try access.write { try $0.remotes.save(authors, at: remoteID) }
  }

  package func hasNews() throws -> Bool {
    try access.ask(news) { statement in try statement.first { statement.int64(0) != 0 } ?? false }
  }

  package func ownHead() throws -> (id: ReplicaID, sequence: UInt64) {
    try access.ask("SELECT id, merged FROM \(tables.author) WHERE idx = 0") { statement in
      guard let head = try statement.first({ (try tables.author(in: statement), statement.raw(1)) })
      else {
        throw ReplicaError.notInstalled
      }
      return head
    }
  }

  package func counts() throws -> ReplicaCounts {
    try access.read {
      try ReplicaCounts(
        $0, skippedTriggers: access.skippedTriggers($0),
        openReferences: access.localReferences($0.db).open)
    }
  }

  package func canonicalState() throws -> [CanonicalRow] {
    try access.read { try CanonicalState(transaction: $0).rows() }
  }
}
