import GRDB
import Synchronization

/// What transactions that are under way will have done, until they are committed and it is told.
final class PendingEvents: Sendable {
  /// When an event is true after its transaction. A savepoint of the app's may have taken back what
  /// it tells of, and nobody hears of that: so what the app did is looked at again.
  enum Truth: Hashable, Sendable {
    /// A worker's own, which has no savepoints.
    case committed
    /// The job is there, as it was enqueued or replaced at a time.
    case enqueued(WallTime)
    /// It is not stuck.
    case freed
    /// It is not among those that have not ended.
    case ended
    /// It is nowhere.
    case removed
  }

  private struct Pending {
    let event: JobEvent
    let truth: Truth
  }

  /// One transaction of one connection, which keeps it until its end.
  private final class Batch: TransactionObserver, Sendable {
    let owner: PendingEvents
    let pending = Mutex<[Pending]>([])

    init(_ owner: PendingEvents) { self.owner = owner }

    func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { false }
    func databaseDidChange(with event: DatabaseEvent) {}

    func databaseDidCommit(_ db: Database) {
      owner.drop(db)
      owner.tell(pending.withLock { $0 }, db)
    }

    func databaseDidRollback(_ db: Database) { owner.drop(db) }
  }

  private struct Held {
    weak var batch: Batch?
  }

  private let observers: [any JobObserver]
  /// What surrounds handlers.
  let surrounding: (any JobSurrounding)?
  /// By connection.
  private let batches = Mutex<[ObjectIdentifier: Held]>([:])

  /// - Returns: `nil` without observers.
  init?(_ observers: [any JobObserver]) {
    if observers.isEmpty { return nil }
    self.observers = observers
    surrounding = observers.lazy.compactMap { $0 as? any JobSurrounding }.first
  }

  /// To be told when the transaction is committed that `db` is in.
  func add(_ event: JobEvent, if truth: Truth = .committed, in db: Database) {
    batch(of: db).pending.withLock { pending in
      if truth != .committed {
        // What is said of a job twice was taken back in between; of an id that is new, all.
        let isNew = if case .enqueued = event.change { true } else { false }
        pending.removeAll {
          $0.event.job == event.job && $0.truth != .committed
            && (isNew || $0.event.change == event.change)
        }
      }
      pending.append(Pending(event: event, truth: truth))
    }
  }

  private func batch(of db: Database) -> Batch {
    let (batch, isNew) = batches.withLock { batches in
      if let batch = batches[ObjectIdentifier(db)]?.batch { return (batch, false) }
      let batch = Batch(self)
      batches[ObjectIdentifier(db)] = Held(batch: batch)
      return (batch, true)
    }
    if isNew { db.add(transactionObserver: batch, extent: .nextTransaction) }
    return batch
  }

  private func drop(_ db: Database) {
    batches.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(db)) }
  }

  // MARK: - After the commit

  private func tell(_ pending: [Pending], _ db: Database) {
    // What can not be read now is not known: the app's part of it is left untold.
    let unfinished = try? Int.fetchOne(db, sql: "SELECT unfinished FROM \(JobTables.queue)")
    var untrue: Set<JobID> = []
    for one in pending {
      let job = one.event.job
      // Nor is it told of the end of a job of whose beginning it is not.
      guard isTrue(one, db), one.truth != .removed || !untrue.contains(job) else {
        untrue.insert(job)
        continue
      }
      var event = one.event
      event.unfinished = unfinished ?? nil
      for observer in observers { observer.observe(event) }
    }
  }

  private func isTrue(_ pending: Pending, _ db: Database) -> Bool {
    if pending.truth == .committed { return true }
    // As above.
    guard let now = try? Standing(pending.event.job, db) else { return false }
    return switch pending.truth {
    case .committed: true
    case .enqueued(let time): now.enqueued == time
    case .freed: !(now.state?.isStuck ?? false)
    case .ended: now.state?.hasEnded ?? true
    case .removed: now.state == nil
    }
  }

  /// Where a job is, among those that have ended too.
  private struct Standing {
    let state: JobState?
    let enqueued: WallTime?

    init(_ job: JobID, _ db: Database) throws {
      let row = try Row.fetchOne(
        db,
        sql: [JobTables.job, JobTables.history].map {
          "SELECT state, enqueued_ms FROM \($0) WHERE id = ?1"
        }.joined(separator: " UNION ALL "), arguments: [job.rawValue])
      state = row.flatMap { JobState(rawValue: $0[0]) }
      enqueued = row.map { WallTime(milliseconds: $0[1]) }
    }
  }
}
