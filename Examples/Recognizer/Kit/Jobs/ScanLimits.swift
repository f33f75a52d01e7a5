/// What the service holds at most, and for how long.
public struct ScanLimits: Hashable, Sendable {
  public var photosPerJob = 5
  public var photoBytes = 10 << 20
  /// Photos of all jobs that wait or are being read.
  public var photoBytesHeld = 400 << 20
  public var jobs = 1000
  public var devices = 10_000
  /// Jobs of one device in one day, by UTC.
  public var jobsPerDay = 200
  /// For how long an event that was sent can be asked for again.
  public var replayMilliseconds: Int64 = 60_000
  /// For how long a token is good, and a job kept.
  public var tokenMilliseconds: Int64 = 2 * 3_600_000
  /// The largest `complete` with its books.
  public var completeBytes = 128 << 10
  public var pingInterval: Duration = .seconds(30)

  public init() {}
}
