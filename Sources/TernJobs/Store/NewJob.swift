import Foundation
import TernCore

/// What a job's row is made of.
struct NewJob {
  let kind: String
  let service: String?
  /// Empty for none.
  let lane: String
  let requirement: JobRequirement
  let payload: Data
  let version: Int
  let priority: Int
  let key: String?
  let ready: WallTime

  /// - Throws: ``JobQueueError`` `.payloadTooLarge`, `.keyTooLong`, `.invalidName`;
  ///   `EncodingError`.
  init<J: Job>(
    _ job: J, _ limits: JobLimits, service: String?, lane: String?, requires: JobRequirement,
    priority: Int, key: String?, ready: WallTime
  ) throws {
    payload = try JobCoding.encode(job)
    guard payload.count <= limits.payloadBytes else {
      throw JobQueueError(
        .payloadTooLarge,
        "a \(J.kind) has \(payload.count) bytes, and the limit is \(limits.payloadBytes); put "
          + "large content into a file")
    }
    try JobQueueError.refuseNull(in: J.kind, "the kind of a job")
    for (name, noun) in [
      (key, "unique key"), (lane, "lane"), (service, "service"), (requires.endpoint, "endpoint"),
    ] {
      guard let name else { continue }
      let what = "the \(noun) of a \(J.kind)"
      guard name.utf8.count <= limits.keyBytes else {
        throw JobQueueError(
          .keyTooLong,
          "\(what) has \(name.utf8.count) bytes, and the limit is \(limits.keyBytes); take a "
            + "shorter one")
      }
      try JobQueueError.refuseNull(in: name, what)
    }
    (kind, version, self.service, self.lane) = (J.kind, J.version, service, lane ?? "")
    (requirement, self.priority, self.key) = (requires, priority, key)
    self.ready = ready
  }
}
