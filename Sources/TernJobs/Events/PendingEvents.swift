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

  /// What the open transaction of one connection will have done.
  ///
  /// It hears of the end before those that the transaction added, of which one may open another
  /// transaction then, and that one be rolled back.
  private final class OperationBatch: TransactionObserver, Sendable {
    private let observers: [any JobObserver]
    private let changes = Mutex<(pending: [Pending], jobs: Set<JobID>)>(([], []))

    init(_ observers: [any JobObserver]) { self.observers = observers }

    func add(_ event: JobEvent, if truth: Truth) {
      changes.withLock { changes in
        if truth != .committed, !changes.jobs.insert(event.job).inserted {
          // What is said of a job twice was taken back in between; of an id that is new, all.
          let isNew = event.change.isEnqueued
          changes.pending.removeAll {
            $0.event.job == event.job && $0.truth != .committed
              && (isNew || $0.event.change == event.change)
          }
        }
        changes.pending.append(Pending(event: event, truth: truth))
      }
    }

    func take() -> [Pending] {
      changes.withLock { changes in
        defer { changes = ([], []) }
        return changes.pending
      }
    }

    func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { false }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidCommit(_ db: Database) { PendingEvents.tell(take(), to: observers, db) }
    func databaseDidRollback(_ db: Database) { _ = take() }
  }

  private struct Held {
    weak var batch: OperationBatch?
  }

  private struct Batches {
    /// By connection, which keeps it.
    var held: [ObjectIdentifier: Held] = [:]
    /// That of the queue's own writer, which does not.
    var own: OperationBatch?
  }

  private let observers: [any JobObserver]
  private let batches = Mutex(Batches())

  /// - Returns: `nil` without observers.
  init?(_ observers: [any JobObserver], of database: any DatabaseWriter) {
    if observers.isEmpty { return nil }
    self.observers = observers
    let own = OperationBatch(observers)
    database.writeWithoutTransaction { db in
      batches.withLock { $0 = Batches(held: [ObjectIdentifier(db): Held(batch: own)], own: own) }
      db.add(transactionObserver: own, extent: .observerLifetime)
    }
  }

  /// To be told when the transaction is committed that `db` is in.
  func add(_ event: JobEvent, if truth: Truth = .committed, in db: Database) {
    batch(of: db).add(event, if: truth)
  }

  /// Nothing is told of a transaction that failed: where SQLite rolls one back by itself,
  /// GRDB tells nobody.
  func drop(_ db: Database) {
    _ = batches.withLock { $0.held[ObjectIdentifier(db)]?.batch }?.take()
  }

  private func batch(of db: Database) -> OperationBatch {
    let (batch, isNew) = batches.withLock { batches in
      if let batch = batches.held[ObjectIdentifier(db)]?.batch { return (batch, false) }
      let batch = OperationBatch(observers)
      batches.held[ObjectIdentifier(db)] = Held(batch: batch)
      return (batch, true)
    }
    if isNew { db.add(transactionObserver: batch, extent: .databaseLifetime) }
    return batch
  }

  // MARK: - After the commit

  private static func tell(
    _ pending: [Pending], to observers: [any JobObserver], _ db: Database
  ) {
    if pending.isEmpty { return }
    // What cannot be read now is not known: the app's part of it is left untold.
    let unfinished = try? Int.fetchOne(db, sql: "SELECT unfinished FROM \(JobTables.queue)")
    let truths = pending.map { isTrue($0, db) }
    // Of a job that was never stored nothing is told, and of one that is gone no more than that.
    var (unborn, gone): (Set<JobID>, Set<JobID>) = ([], [])
    for (one, isTrue) in zip(pending, truths) {
      if one.event.change.isEnqueued, !isTrue { unborn.insert(one.event.job) }
      if one.truth == .removed, isTrue { gone.insert(one.event.job) }
    }
    for (one, isTrue) in zip(pending, truths) where isTrue {
      let isPassed = one.truth == .ended || one.truth == .freed
      guard !unborn.contains(one.event.job), !isPassed || !gone.contains(one.event.job) else {
        continue
      }
      var event = one.event
      event.unfinished = unfinished ?? nil
      for observer in observers { observer.observe(event) }
    }
  }

  private static func isTrue(_ pending: Pending, _ db: Database) -> Bool {
    if pending.truth == .committed { return true }
    // As above.
    guard let now = try? Standing(pending.event.job, db) else { return false }
    return switch pending.truth {
    case .committed: true
    // It may have been replaced since.
    case .enqueued(let time) where pending.event.change.isEnqueued:
      now.enqueued.map { $0 >= time } ?? false
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
      let statement = try db.cachedStatement(
        sql: [JobTables.job, JobTables.history].map {
          "SELECT state, enqueued_ms FROM \($0) WHERE id = ?1"
        }.joined(separator: " UNION ALL "))
      let row = try Row.fetchOne(statement, arguments: [job.rawValue])
      state = row.flatMap { JobState(rawValue: $0[0]) }
      enqueued = row.map { WallTime(milliseconds: $0[1]) }
    }
  }
}

extension JobEvent.Change {
  fileprivate var isEnqueued: Bool { if case .enqueued = self { true } else { false } }
}
