import GRDB

/// Removes the folder of a database in memory when its last connection is gone, which keeps its
/// observers to its end.
final class TemporaryFolder: TransactionObserver {
  private let folder: JobFolder.Opening

  init(_ folder: JobFolder) {
    self.folder = folder.opening
  }

  deinit {
    // Nobody is left who could be told; the system empties its temporary folder.
    try? folder.removeRoot()
  }

  func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { false }
  func databaseDidChange(with event: DatabaseEvent) {}
  func databaseDidCommit(_ db: Database) {}
  func databaseDidRollback(_ db: Database) {}
}
