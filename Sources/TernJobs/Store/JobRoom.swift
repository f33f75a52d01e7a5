import TernCore

/// Who waits for room: jobs that were refused what they enqueue, because too many had not ended.
struct JobRoom: Sendable {
  /// How many had not ended as each was refused. With fewer there is more room than it found.
  var refusedAt: [JobID: Int] = [:]
  /// How many have not ended now, and with them those who run again and may each take a place.
  var count = 0

  func holds(_ job: JobID) -> Bool { refusedAt[job].map { $0 <= count } ?? false }
}
