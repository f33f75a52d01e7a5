import GRDB
import TernCore
import TernDatabase

/// Writes of rows that are left out, because a trigger of the app's would end the transaction.
struct EndingWrites {
  struct Write: Hashable {
    let row: StrayWatch.RowID
    let sql: String
  }

  private var writes: Set<Write> = []
  /// Set where there are more than are looked for one by one.
  private(set) var areTriggersOff = false

  /// Each costs the transaction once more.
  private static let limit = 8

  /// Runs a transaction again for each write that ended it, then without that write.
  ///
  /// - Throws: ``ReplicaError`` where it ends all the same.
  static func retrying<T>(_ transaction: (EndingWrites) throws -> T) throws -> T {
    var ending = EndingWrites()
    while true {
      do {
        return try transaction(ending)
      } catch let end as TransactionEndedByRow {
        if ending.areTriggersOff { throw end.error }
        ending.add(end.write)
      }
    }
  }

  private mutating func add(_ write: Write) {
    if writes.count == Self.limit { areTriggersOff = true }
    writes.insert(write)
  }

  /// Asked once a row, of which it is nearly always empty.
  func contains(
    _ sql: @autoclosure () -> String, _ table: Int64, _ key: some ContiguousBytesLike
  ) -> Bool {
    if writes.isEmpty || areTriggersOff { return false }
    let row = StrayWatch.RowID(table: table, key: key.withBytes { Array($0) })
    return writes.contains(Write(row: row, sql: sql()))
  }
}

/// The write of a row ended the transaction that it was in.
struct TransactionEndedByRow: Error {
  let write: EndingWrites.Write
  let table: String
  let cause: DatabaseError

  /// What the caller of a transaction that is not run again is told.
  var error: ReplicaError {
    ReplicaError(
      .transactionEnded,
      "writing a row of table “\(table)” ended the transaction: \(cause.message ?? "a trigger"); "
        + "let the app's trigger say RAISE(ABORT) in place of RAISE(ROLLBACK)")
  }
}
