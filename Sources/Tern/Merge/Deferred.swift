import GRDB
import TernCore
import TernDatabase

/// Operations with tables or columns that this schema version does not have stay in the log and
/// are named here, so that the upgrade finds them.
extension StoreTransaction {
  func deferOperation(_ id: LogID) throws {
    let statement = try statement("INSERT OR IGNORE INTO \(tables.deferred) (id) VALUES (?)")
    statement.bind(1, id.rawValue)
    try statement.run()
  }

  /// Merges what the new schema version can now take of the deferred operations.
  func replayDeferred(_ changes: [Int64: Catalogue.Change]) throws {
    let statement = try statement("SELECT id FROM \(tables.deferred) ORDER BY id")
    var ids: [LogID] = []
    while try statement.step() { ids.append(LogID(rawValue: statement.int64(0))) }
    statement.reset()
    if ids.isEmpty { return }
    let pass = try MergePass(self)
    let forget = try self.statement("DELETE FROM \(tables.deferred) WHERE id = ?")
    for id in ids {
      guard let operation = try operation(id) else {
        throw ReplicaError(.damaged, "the log lacks an operation that was put off")
      }
      guard try pass.replay(operation, author: id.author, new: changes) else { continue }
      forget.bind(1, id.rawValue)
      try forget.run()
    }
    try pass.finish()
  }
}
