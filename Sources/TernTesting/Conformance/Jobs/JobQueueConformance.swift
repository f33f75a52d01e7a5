import GRDB
import Tern

/// Checks that the job queue keeps its promises over a database as an app opens it: a pool or a
/// queue, on a file or in memory, with the app's configuration.
///
/// There is no other store to implement: a job is enqueued in the app's own transaction, and a
/// step's result is one with the rows that it writes, so the store is the app's database.
///
/// ```swift
/// let conformance = JobQueueConformance { .init(database: try DatabaseQueue()) }
/// try conformance.run()
/// ```
///
/// It is in virtual time and the same in each run, but for announcements, which come in real time.
public struct JobQueueConformance: Sendable {
  /// A new, empty database.
  public struct Subject: Sendable {
    public var database: any DatabaseWriter
    /// Closes it and opens the same file again, as a new process does; `nil` in memory.
    public var reopen: (@Sendable () throws -> any DatabaseWriter)?

    public init(
      database: any DatabaseWriter, reopen: (@Sendable () throws -> any DatabaseWriter)? = nil
    ) {
      (self.database, self.reopen) = (database, reopen)
    }
  }

  public let makeSubject: @Sendable () throws -> Subject
  /// Of the ``JobHarness`` of each scenario.
  public let seed: UInt64

  public init(seed: UInt64 = 1, _ makeSubject: @escaping @Sendable () throws -> Subject) {
    (self.seed, self.makeSubject) = (seed, makeSubject)
  }

  /// Runs every scenario, each over a database of its own.
  ///
  /// - Throws: ``ConformanceFailure``, or what the queue throws unasked.
  public func run() throws {
    for scenario in Scenario.allCases { try run(scenario) }
  }

  /// - Throws: ``ConformanceFailure``, or what the queue throws unasked.
  public func run(_ scenario: Scenario) throws {
    do {
      try check(scenario)
    } catch let error as JobHarnessError {
      throw ConformanceFailure(.drains, "\(scenario.rawValue): \(error)")
    }
  }

  private func check(_ scenario: Scenario) throws {
    switch scenario {
    case .enqueue: try checkEnqueue()
    case .order: try checkOrder()
    case .delay: try checkDelay()
    case .unique: try checkUnique()
    case .replace: try checkReplace()
    case .followUp: try checkFollowUp()
    case .steps: try checkSteps()
    case .values: try checkValues()
    case .retry: try checkRetry()
    case .uncounted: try checkUncounted()
    case .gate: try checkGate()
    case .lanes: try checkLanes()
    case .rate: try checkRate()
    case .budget: try checkBudget()
    case .requirement: try checkRequirement()
    case .lostRequirement: try checkLostRequirement()
    case .attemptLimit: try checkAttemptLimit()
    case .pause: try checkPause()
    case .cancelWaiting: try checkCancelWaiting()
    case .cancelRunning: try checkCancelRunning()
    case .deadLetters: try checkDeadLetters()
    case .retention: try checkRetention()
    case .limits: try checkLimits()
    case .migration: try checkMigration()
    case .death: try checkDeath()
    case .files: try checkFiles()
    case .sweep: try checkSweep()
    case .oneWorker: try checkOneWorker()
    case .announcements: try checkAnnouncements()
    case .newProcess: try checkNewProcess()
    }
  }

  /// One promise; its raw value says which.
  public enum Scenario: String, Hashable, Sendable, CaseIterable {
    case enqueue = "a job is there with what its transaction wrote, or not at all"
    case order = "of the jobs that are due the greatest priority goes first, then the first ready"
    case delay = "a delayed job starts at its time, whatever becomes of the wall clock"
    case unique = "a job that is unique is not enqueued beside one that waits or runs"
    case replace = "a job that is replaced keeps nothing of what it stored"
    case followUp = "a step enqueues the next job with its rows, or nothing"
    case steps = "wherever a process dies, a step's rows are there once, and it is not repeated"
    case values = "a value and a deadline hold over deaths"
    case retry = "what counts is tried again after its policy's waits, and fails then"
    case uncounted = "what reached nobody costs no attempt, and what is permanent ends at once"
    case gate = "a closed gate holds its service's jobs, and one probe goes first"
    case lanes = "no more jobs of a lane run at once than its pace says"
    case rate = "no more jobs of a kind start than its rate says"
    case budget = "an outage costs a bounded number of attempts"
    case requirement = "a job waits for the network that it requires, and others go on"
    case lostRequirement = "an attempt ends at no cost when the network goes that it requires"
    case attemptLimit = "a handler that never returns loses its slot, and stores nothing further"
    case pause = "what is paused does not start until it is resumed"
    case cancelWaiting = "a job that is cancelled as it waits never starts"
    case cancelRunning = "a job that is cancelled as it runs stores nothing further"
    case deadLetters = "a failed job keeps its story and its steps until it is retried or removed"
    case retention = "as many jobs that ended are kept as declared, and no longer"
    case limits = "what goes over a limit is refused by its name, and the transaction goes on"
    case migration = "an older payload is migrated, and what cannot be read is parked"
    case death = "a death frees what ran, costs no attempt, and parks what five died of"
    case files = "a job has its files until the commit that gives them up"
    case sweep = "what the dead left to nobody is swept"
    case oneWorker = "one worker works on a database at a time"
    case announcements = "who follows the queue is told of what was enqueued"
    case newProcess = "everything is in the database's file, and goes on from there"
  }
}
