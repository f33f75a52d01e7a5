import TernCore

/// What has become of one job, after it was committed. Holds no payload, no key and no file.
public struct JobEvent: Hashable, Sendable {
  public let job: JobID
  /// ``Job/kind``.
  public let kind: String
  /// Whose gate it passes.
  public let service: String?
  /// `nil` where it is about no attempt.
  public let attempt: Attempt?
  public let change: Change
  /// How many jobs of the queue had not ended after the commit; `nil` where that could not be read.
  public package(set) var unfinished: Int?

  package init(
    job: JobID, kind: String, service: String?, attempt: Attempt? = nil, _ change: Change
  ) {
    (self.job, self.kind, self.service) = (job, kind, service)
    (self.attempt, self.change) = (attempt, change)
  }

  public struct Attempt: Hashable, Sendable {
    /// As ``JobContext/attempt``: repeated after what did not count.
    public let number: Int
    /// From 1, and never repeated: crashes and what else costs no attempt included.
    public let start: Int

    package init(number: Int, start: Int) {
      (self.number, self.start) = (number, start)
    }
  }

  /// Others may be added: a `switch` has a `default`.
  ///
  /// Durations of waits are by the wall clock and at least zero; of what ran, by the queue's clock.
  public enum Change: Hashable, Sendable {
    /// - Parameter delay: not before that much time has passed.
    case enqueued(delay: Duration)
    /// It became another one, by ``JobUniqueness/replace(_:)``.
    case replaced(delay: Duration)
    /// It is due, the first of its kind, lane, service and requirement, and has to wait. Told when
    /// a worker that looks for jobs finds it so, or for another reason; those behind it are
    /// not told of.
    case held(Hold)
    /// A worker has it.
    ///
    /// - Parameters:
    ///   - waited: since it was due, or became ready again.
    ///   - isProbe: it tries whether its gate opens.
    case started(waited: Duration, isProbe: Bool)
    /// A step's result is stored, with what it wrote. By the step's name.
    case stepped(String)
    /// A value is stored. By its name.
    case saved(String)
    /// - Parameter age: since it was enqueued.
    case done(ran: Duration, age: Duration)
    /// Its handler threw.
    case failed(Failure, ran: Duration)
    /// The worker's run ended while it ran, or what it requires went, at no cost.
    ///
    /// - Parameter ran: `nil` where its end could not be stored as it came, and was later.
    case stopped(ran: Duration?)
    /// A process died that ran it, and it is free again, at no cost. Told by the next worker.
    ///
    /// - Parameter deaths: how many processes in a row.
    case died(deaths: Int)
    /// Its attempt ended, at no cost, and the job waits for the end of what it handed
    /// over: an upload.
    case entrusted(ran: Duration)
    /// Its attempt returned, and it was not its own any more: cancelled, removed, or taken over by
    /// another worker.
    case abandoned(ran: Duration)
    /// - Parameters:
    ///   - reason: as it is stored; may hold an error's own words.
    ///   - ran: `nil` where it was not started.
    case parked(Parking, reason: String, ran: Duration?)
    /// It has all its attempts again: by call, or since a worker has a handler for its kind.
    case retried
    /// By call. Of one that ran, ``abandoned(ran:)`` follows.
    case cancelled
    /// By call, before it had ended.
    case removed
  }

  /// What a job waits for that is due.
  public enum Hold: String, Hashable, Sendable, CaseIterable {
    /// Until its service takes work again, or the probe says so.
    case gate
    /// ``JobQueue/pause(_:in:)``.
    case pause
    /// ``JobRequirement``.
    case requirement
    /// Its lane's was refused, and the app has no other.
    case credential
    /// Its kind's or lane's ``JobPace``, or its service's retry budget.
    case pace
  }

  /// How an attempt failed.
  public struct Failure: Hashable, Sendable {
    /// The type of what was thrown, with the case of an enumeration, without what it carries.
    public let error: String
    /// What is stored as the job's reason; may hold an error's own words.
    public let reason: String
    public let advice: FailureAdvice
    /// Whether it is one of the attempts that the job has. What ends the job at once counts none.
    public let counts: Bool
    public let next: Next

    package init(
      error: String, reason: String, advice: FailureAdvice, counts: Bool, next: Next
    ) {
      (self.error, self.reason, self.advice) = (error, reason, advice)
      (self.counts, self.next) = (counts, next)
    }
  }

  /// What follows a failure.
  public enum Next: Hashable, Sendable {
    /// Another attempt.
    case after(Duration)
    /// Its service's gate is closed for so long, and it waits behind it.
    case gate(Duration)
    /// The job has failed, until somebody retries it.
    case never
  }

  /// Why a job is parked.
  public enum Parking: String, Hashable, Sendable, CaseIterable {
    case noHandler, newerVersion
    /// Its payload, or what a checkpoint stored.
    case unreadable
    /// Of its processes: ``JobLimits/deaths``.
    case deaths
  }
}
