import GRDB
import Synchronization

/// A file that was copied for a job and that no job has yet: hand it to
/// ``JobQueue/enqueue(_:priority:after:unique:lane:service:requires:files:in:)``.
///
/// It is synced, so that it survives what its job's commit survives. When that transaction is
/// rolled back it can be handed over again; let go without a job, it is removed, or by the next
/// opening where a commit failed.
public final class JobFile: Sendable {
  /// What the job's handler asks for it by.
  public let name: String
  /// Relative to the folder's root.
  let path: String
  let folder: JobFolder
  private let state = Mutex(State())

  private struct State {
    var owner = Owner.nobody
    /// Whether a job may have it after all: let go, it is left to the next opening, which sweeps
    /// what no row names.
    var isInDoubt = false
  }

  private enum Owner {
    case nobody
    /// A transaction that is open gives it to a job.
    case transaction
    case job
  }

  init(name: String, path: String, folder: JobFolder) {
    (self.name, self.path, self.folder) = (name, path, folder)
  }

  deinit {
    if state.withLock({ $0.owner == .nobody && !$0.isInDoubt }) { folder.unlink(path) }
  }

  /// Takes it for a transaction, which writes already, and at whose end it is seen what
  /// became of it.
  func give(to job: JobID, _ rows: JobTransaction) throws {
    try takeBackIfLost(rows)
    let isFree = state.withLock { state in
      defer { if state.owner == .nobody { state.owner = .transaction } }
      return state.owner == .nobody
    }
    guard isFree else {
      throw JobQueueError(.fileInUse, "the file “\(name)” belongs to a job already")
    }
    do {
      try rows.files.add(path, as: name, to: job)
    } catch {
      takeBack()
      throw error
    }
    rows.db.add(transactionObserver: Giving(self), extent: .nextTransaction)
  }

  /// GRDB tells nobody of a transaction that SQLite rolled back by itself, as the database was
  /// interrupted or its disk full. Nobody else can be giving the file: one connection writes
  /// at a time.
  private func takeBackIfLost(_ rows: JobTransaction) throws {
    guard state.withLock({ $0.owner == .transaction }),
      try !JobFolder.isNamed(path, in: rows.db)
    else { return }
    takeBack()
  }

  /// Hears what becomes of the transaction that gives a file to a job.
  private final class Giving: TransactionObserver {
    private let file: JobFile
    private var isCommitting = false

    init(_ file: JobFile) { self.file = file }

    func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { false }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseWillCommit() { isCommitting = true }

    func databaseDidCommit(_ db: Database) {
      // What cannot be read counts as the job's; if it is not, it is swept later.
      let isNamed = (try? JobFolder.isNamed(file.path, in: db)) ?? true
      file.state.withLock { $0.owner = isNamed ? .job : .nobody }
    }

    func databaseDidRollback(_ db: Database) {
      // The commit failed; or it did not, and somebody who heard of it before has opened another
      // transaction, of which this is the end.
      if isCommitting { file.state.withLock { $0.isInDoubt = true } }
      file.takeBack()
    }
  }

  /// What ``give(to:_:)`` wrote is undone.
  func takeBack() {
    state.withLock { $0.owner = .nobody }
  }
}
