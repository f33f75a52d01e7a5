import Foundation
import GRDB

/// Removes the folder of a database in memory when that is gone, which keeps its observers to its
/// end.
final class TemporaryFolder: TransactionObserver {
  private let path: String

  init(_ path: String) {
    self.path = path
  }

  deinit {
    // Nobody is left who could be told; the system empties its temporary folder.
    try? FileManager.default.removeItem(atPath: path)
  }

  func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { false }
  func databaseDidChange(with event: DatabaseEvent) {}
  func databaseDidCommit(_ db: Database) {}
  func databaseDidRollback(_ db: Database) {}
}
