import GRDB
import TernCore
import TernDatabase

/// What `Replica.restoreRows` inserted, and what it left as it is.
public struct RestoredRows: Hashable, Sendable, CustomStringConvertible {
  /// The rows that the file shows and this replica did not. One that was left has a reason for
  /// each of its columns.
  public let rows: [UndoneOperation.Row]
  /// Synced tables that the file does not have, or has with another key.
  public let missingTables: [String]

  public var description: String {
    let missing = missingTables.map { "“\($0)”" }.joined(separator: ", ")
    return RowCounts.text(of: rows) + (missing.isEmpty ? "" : "; not in the file: \(missing)")
  }
}

extension Replica {
  /// Inserts the rows that an older file of this app's database shows and this replica lacks or has
  /// deleted: the file that ``SyncEngine/acceptSnapshot()`` kept, or a backup.
  ///
  /// ```swift
  /// print(try await replica.restoreRows(fromFile: kept, preview: true))
  /// try await replica.restoreRows(fromFile: kept)
  /// ```
  ///
  /// The rows are new writes of this device, which merge like any other and which ``undo()`` takes
  /// back. Rows that are here stay as they are, whatever the file has of them, and so do
  /// quarantined rows. What was deleted on purpose since comes back too: look at the preview first.
  /// A row whose value another has in a UNIQUE index, or whose parent is nowhere, is left and
  /// reported.
  ///
  /// Seals what was written first. Everything is one transaction; a second call finds nothing. The
  /// file is only read, and may have an older schema.
  ///
  /// Cost: one look into the state for each row of the file, and memory for the missing ones.
  ///
  /// - Parameter preview: says what would be done, and writes nothing.
  /// - Throws: ``InspectionError`` for a file that can't be read, or was written meanwhile; and as
  ///   ``undo()``; each with nothing restored.
  @discardableResult
  public func restoreRows(fromFile path: String, preview: Bool = false) async throws -> RestoredRows
  {
    let store = store
    let restored = try await BlockingWork.shared.run {
      try KeptRows.restore(fromFile: path, in: store, isPreview: preview)
    }
    if !preview { localWrites.tell() }
    return restored
  }
}

extension KeptRows {
  fileprivate static func restore(
    fromFile path: String, in store: SQLiteReplicaStore, isPreview: Bool
  ) throws -> RestoredRows {
    try store.seal()
    // The file's own errors alone are its reader's.
    return try ReadOnlyFile(path: path).readChecked { file, check in
      Result {
        try store.sealing { transaction in
          _ = try Seal.run(in: transaction)
          var restored: RestoredRows?
          try transaction.connection.inSavepoint {
            restored = try KeptRows(transaction: transaction, file: file).restore()
            try check()
            return isPreview ? .rollback : .commit
          }
          if !isPreview { _ = try Seal.run(in: transaction) }
          return restored!
        }
      }
    }.get()
  }
}
