import Foundation

/// Where a job stands. The raw values are stored.
public enum JobState: Int, Hashable, Sendable, Codable, CaseIterable {
  /// For its turn, a time, a gate, a pace, a budget, the network, what it requires, room, the end
  /// of a pause, or that of an upload that it handed over.
  case waiting = 0
  /// A worker has it.
  case running = 1
  case done = 2
  /// Its attempts are used up, or no further one would help; it stays until it is retried or
  /// removed.
  case failed = 3
  /// No handler knows its kind, or its payload cannot be read: it comes back by itself when a
  /// worker with a handler for its kind starts. Or its process died each time that it ran
  /// (``JobLimits/deaths``): it waits until somebody retries it.
  case parked = 4
  /// By call. Nothing more happens to it.
  case cancelled = 5

  /// Whether nothing more happens to the job in this run of a worker, until somebody retries it.
  public var isStuck: Bool { self == .failed || self == .parked }

  /// Whether nothing more happens to the job, ever.
  public var hasEnded: Bool { self == .done || self == .cancelled }
}

/// What a database holds of a job, without its payload.
public struct JobRecord: Hashable, Sendable, Identifiable {
  public let id: JobID
  /// ``Job/kind`` of its type.
  public let kind: String
  /// Whose gate it passes.
  public let service: String?
  /// Whose pace it shares among the jobs of its kind.
  public let lane: String?
  public let state: JobState
  /// When ``state`` began.
  public let since: Date
  /// Of a waiting job: not before this time; a closed gate can make it later, and the answer to an
  /// upload that it waits for sooner.
  public let readyAt: Date
  /// How often it was started, crashes and what else costs no attempt included.
  public let starts: Int
  /// How many attempts in a row failed and count, since its last checkpoint.
  public let failures: Int
  /// How many attempts in a row reached nobody, since there was last another network or a
  /// checkpoint. Above 0, a waiting job's ``reason`` is why.
  public let unreached: Int
  /// From 0 to 1, as its handler reported.
  public let progress: Double?
  /// As its handler reported.
  public let message: String?
  /// Why it failed, was parked or last had to wait, in a sentence.
  public let reason: String?
  /// The greater goes first.
  public let priority: Int
  /// What has to be there before it is started.
  public let requirement: JobRequirement
  /// Whether that was there as a worker looked last. A waiting job for which it was not waits for
  /// it, whatever ``readyAt`` says.
  public let isRequirementMet: Bool
  /// Whether ``JobQueue/pause(_:in:)`` holds its kind or the whole queue: it is not started, and
  /// what runs goes on.
  public let isPaused: Bool
  /// Whether its lane's credential was refused and the app has no other: it is not started until
  /// ``JobQueue/credentialChanged(of:in:)``, or a worker's run begins.
  public let isCredentialRefused: Bool
  /// What it is unique by among the jobs of its kind, while it has not ended.
  public let uniqueKey: String?
  public let enqueuedAt: Date
}

/// A service that asked for a pause.
public struct JobGate: Hashable, Sendable {
  public let service: String
  /// When one job may try whether the service takes work again.
  public let reopensAt: Date
  /// The job that is trying.
  public let probe: JobID?
}

/// An attempt that ended in an error, or with its process, whether it counted or not.
public struct FailedAttempt: Hashable, Sendable {
  /// Which start of the job it was, from 1.
  public let start: Int
  public let at: Date
  /// In a sentence, without content.
  public let reason: String
}

/// All jobs of a database, and the closed gates that they wait for, at one moment.
public struct JobOverview: Hashable, Sendable {
  /// In the order of enqueueing.
  public let records: [JobRecord]
  public let gates: [JobGate]
}
