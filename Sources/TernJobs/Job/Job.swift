import Foundation
import TernCore

/// Durable work that a handler does, once or several times until it succeeds, in this process or
/// in a later one.
///
/// A value says what is to be done; it is stored as JSON, so keep it small and its coding stable.
/// Put large content into files.
///
/// ```swift
/// struct ScanShelf: Job {
///   static let kind = "scan-shelf"
///   static let service: String? = "recogniser"
///   var shelf: String
/// }
/// ```
public protocol Job: Codable, Sendable {
  /// What the database calls this type, for ever: jobs of a kind that no handler is registered for
  /// are parked.
  static var kind: String { get }
  /// Whose gate its jobs pass: what one of them is told about coming back later holds for all of
  /// the same service. `nil`, the default, has no gate. Where a kind's jobs go to several services,
  /// each is enqueued with its own.
  static var service: String? { get }
  /// How often, and when, what failed is tried again. The default is ``RetryPolicy/standard``.
  static var retry: RetryPolicy { get }
  /// How long an attempt may go on without progress: a step, a saved value, or
  /// ``JobContext/report(progress:message:)``. Its handler is cancelled then, and the attempt
  /// counts, unless the network was away or changed meanwhile. One that goes on for ten seconds
  /// more loses its slot, the attempt counts, and nothing that it stores is taken. By the clock of
  /// the queue's environment. The default is ten minutes; `nil` is for ever.
  static var attemptLimit: Duration? { get }
  /// How fast the jobs of this kind go, together. The default is ``JobPace/unbounded``. What is
  /// changed here holds for the jobs that wait, too.
  static var pace: JobPace { get }
  /// How fast those of one lane go: see `lane` of
  /// ``JobQueue/enqueue(_:priority:after:unique:lane:service:requires:files:in:)``.
  static var lanePace: JobPace { get }
  /// What has to be there before a job is started, where ``JobQueue`` is told nothing else as it is
  /// enqueued. The default is ``JobRequirement/nothing``. It is stored with the job.
  static var requirement: JobRequirement { get }
  /// Of the payload's coding; raise it when values that were stored before can't be decoded any
  /// more. The default is 1.
  static var version: Int { get }
  /// Reads what an older version of the app stored.
  ///
  /// - Parameter version: less than ``version``, at least 1.
  /// - Throws: anything, and the job is parked with that as its reason. The default throws.
  static func migrate(_ payload: Data, from version: Int) throws -> Self
}

extension Job {
  public static var service: String? { nil }
  public static var retry: RetryPolicy { .standard }
  public static var attemptLimit: Duration? { .seconds(600) }
  public static var version: Int { 1 }
  public static var pace: JobPace { .unbounded }
  public static var lanePace: JobPace { .unbounded }
  public static var requirement: JobRequirement { .nothing }

  public static func migrate(_ payload: Data, from version: Int) throws -> Self {
    throw JobFailure(.permanent, "\(kind) has no way to read version \(version)")
  }
}

/// Names a job in its database: given in the order of enqueueing, and never again.
public struct JobID: RawRepresentable, Hashable, Sendable, Codable, Comparable {
  public let rawValue: Int64

  public init(rawValue: Int64) {
    self.rawValue = rawValue
  }

  public static func < (left: JobID, right: JobID) -> Bool { left.rawValue < right.rawValue }
}

extension JobID: CustomStringConvertible {
  public var description: String { "\(rawValue)" }
}
