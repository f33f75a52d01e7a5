import GRDB
import Synchronization

/// A file that was copied for a job and that no job has yet: hand it to
/// ``JobQueue/enqueue(_:files:in:)``.
///
/// It is synced, so that it survives what its job's commit survives. When that transaction is
/// rolled back it can be handed over again; let go without a job, it is removed.
public final class JobFile: Sendable {
  /// What the job's handler asks for it by.
  public let name: String
  /// Relative to the folder's root.
  let path: String
  let folder: JobFolder
  private let ownership = Mutex(Ownership.nobody)

  private enum Ownership {
    case nobody
    /// A transaction that is open gives it to a job.
    case transaction
    case job
  }

  init(name: String, path: String, folder: JobFolder) {
    (self.name, self.path, self.folder) = (name, path, folder)
  }

  deinit {
    if ownership.withLock({ $0 == .nobody }) { folder.unlink(path) }
  }

  /// Takes it for a transaction, at whose end it is seen what became of it.
  func give(to job: JobID, _ rows: JobRows) throws {
    let isFree = ownership.withLock { ownership in
      defer { if ownership == .nobody { ownership = .transaction } }
      return ownership == .nobody
    }
    guard isFree else {
      throw JobQueueError(.fileInUse, "the file “\(name)” belongs to a job already")
    }
    do {
      try rows.addFile(path, as: name, to: job)
    } catch {
      takeBack()
      throw error
    }
    rows.db.afterNextTransaction(
      onCommit: { db in
        // What can not be read counts as the job's; if it is not, it is swept later.
        let isNamed = (try? JobFolder.isNamed(self.path, in: db)) ?? true
        self.ownership.withLock { $0 = isNamed ? .job : .nobody }
      },
      onRollback: { _ in self.takeBack() })
  }

  /// What ``give(to:_:)`` wrote is undone.
  func takeBack() {
    ownership.withLock { $0 = .nobody }
  }
}
