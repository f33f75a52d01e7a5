import TernCore
import TernDatabase

/// The notes that the triggers of synced tables took, and what stands beside them until the seal.
struct NoteTable {
  private let connection: StoreConnection

  init(_ connection: StoreConnection) {
    self.connection = connection
  }

  func count(_ sql: TableSQL) throws -> Int {
    try connection.count(sql.note.noteTable)
  }

  /// Forgets what was noted of a table, what drafts did to its texts, and what its deleted rows
  /// held.
  func forget(_ sql: TableSQL) throws {
    try connection.statement(sql.deleteNotes).run()
    if sql.shape.columns.contains(where: { $0.rule == .text }) {
      try SpliceTable(connection).forget(of: sql.shape.id)
    }
    if sql.shape.deletes.keepsContent { try connection.statement(sql.deleteGone).run() }
  }

  /// Runs a write that may show a set as several devices filled it together.
  func withoutCounting<T>(_ sql: TableSQL, _ body: () throws -> T) throws -> T {
    if sql.note.sets.isEmpty { return try body() }
    try connection.statement(sql.note.liftCount).run()
    let result = Result { try body() }
    // Also for who goes on after what `body` threw; where this fails, nobody may. A transaction
    // that `body` ended took the note with it, and whose the lock is now is not said.
    if connection.db.isInsideTransaction { try connection.statement(sql.note.countAgain).run() }
    return try result.get()
  }
}
