import Foundation

/// A job that has not ended, and what it waits for.
public struct JobWait: Hashable, Sendable {
  public enum Reason: Hashable, Sendable {
    /// For a delay, a retry, or its turn behind one that runs, a pace or a retry budget. Not before
    /// this moment.
    case time(Date)
    /// A service asked for a pause, until this moment at least.
    case gate(String, Date)
    case pause
    /// Of the network.
    case requirement(JobRequirement)
    /// Its lane's was refused, and the app has no other.
    case credential
    /// Its last attempt reached nobody, and there is no route.
    case network
    /// An upload that it handed over, until this moment at most.
    case transfer(Date)
    /// Of its queue's ``JobLimits/jobs``, for what it enqueues.
    case room
    /// A handler runs, or its end cannot be stored.
    case attempt
  }

  public let job: JobID
  public let kind: String
  public let reason: Reason
  /// Why its last attempt failed, in a sentence.
  public let failure: String?

  /// Whether no more than time has to pass.
  public var endsWithTime: Bool {
    switch reason {
    case .time, .gate, .transfer: true
    case .pause, .requirement, .credential, .network, .room, .attempt: false
    }
  }
}

extension JobWait: CustomStringConvertible {
  public var description: String {
    let reason =
      switch reason {
      case .time(let date): "waits for its turn, from \(date.ISO8601Format()) on"
      case .gate(let service, let date):
        "waits for the gate of “\(service)” until \(date.ISO8601Format())"
      case .pause: "is paused"
      case .requirement(let requirement):
        requirement.endpoint.map { "requires the endpoint “\($0)”" }
          ?? "requires a network (\(requirement.network))"
      case .credential: "waits for another credential"
      case .network: "reached nobody, and there is no route"
      case .transfer(let date):
        "waits for an upload that it handed over, until \(date.ISO8601Format()) at most"
      case .room: "waits for room in the queue"
      case .attempt: "is running"
      }
    return "job \(job) (\(kind)) \(reason)" + (failure.map { "; last failure: \($0)" } ?? "")
  }
}
