import Foundation
import GRDB
import TernDatabase

/// Writes to a database file as any other process may, beside the app that has it open: it makes no
/// file, changes no setting of the database, and leaves checkpoints to the app.
package struct GuestFile {
  package let path: String

  package init(path: String) {
    self.path = path
  }

  /// Runs `body` in one transaction, which all that it throws takes back. Waits up to five seconds
  /// for other writers. Blocks: not on the main actor.
  ///
  /// - Throws: ``InspectionError`` for a file that can't be opened, and what `body` throws.
  package func write<Value>(_ body: (Database) throws -> Value) throws -> Value {
    let file = ReadOnlyFile(path: path)
    // Says what is wrong with a file that is not there, or is no database.
    _ = try file.read { try Int.fetchOne($0, sql: "PRAGMA schema_version") }
    var configuration = Configuration()
    configuration.busyMode = .timeout(5)
    // SQLite before 3.51.3 can damage a file that one connection writes to while another
    // checkpoints it.
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA wal_autocheckpoint = 0") }
    let queue = try DatabaseQueue(
      path: DatabaseFileBytes.presentURI(file.path), configuration: configuration)
    let value = try queue.write(body)
    try queue.close()
    return value
  }
}
