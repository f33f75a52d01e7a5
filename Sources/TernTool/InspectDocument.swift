#if Server
import Foundation
import Tern
import TernJobs

/// What the page shows of a whole file.
struct InspectDocument: Encodable {
  let path: String
  let allowsChanges: Bool
  /// By this machine's clock, in milliseconds since 1970, as all times here.
  let now: Int64
  let sizes: FileSizes
  let replicas: [ReplicaInspection]
  let jobs: Jobs?
  /// Why the queue can't be shown.
  let jobsRefusal: String?

  struct Jobs: Encodable {
    /// By state.
    let counts: [String: Int]
    /// The newest of each state, by id.
    let list: [Job]
    let gates: [Gate]
  }

  struct Job: Encodable {
    let id: Int64
    let kind: String
    let service: String?
    let lane: String?
    let state: String
    let since: Int64
    let enqueuedAt: Int64
    /// What a waiting job waits for, and until when where that is known.
    let waits: String?
    let until: Int64?
    let starts: Int
    let failures: Int
    let progress: Double?
    let message: String?
    let reason: String?
    let isStuck: Bool
    let hasEnded: Bool
  }

  struct Gate: Encodable {
    let service: String
    let reopensAt: Int64
    let probe: Int64?
  }

  /// Of each state.
  private static let limit = 200

  init(_ contents: DatabaseFileContents, path: String, allowsChanges: Bool, now: Date) {
    (self.path, self.allowsChanges) = (path, allowsChanges)
    self.now = now.milliseconds
    (sizes, replicas) = (contents.sizes, contents.replicas)
    switch contents.jobs {
    case .success(let overview):
      (jobs, jobsRefusal) = (overview.map(Self.jobs), nil)
    case .failure(let error):
      (jobs, jobsRefusal) = (nil, error.message)
    }
  }

  private static func jobs(_ overview: JobOverview) -> Jobs {
    let byState = Dictionary(grouping: overview.records) { "\($0.state)" }
    let gates = Dictionary(overview.gates.map { ($0.service, $0) }, uniquingKeysWith: { $1 })
    let newest = byState.values.flatMap { $0.suffix(limit) }.sorted {
      $0.id.rawValue < $1.id.rawValue
    }
    return Jobs(
      counts: byState.mapValues(\.count),
      list: newest.map { Job($0, gate: $0.service.flatMap { gates[$0] }) },
      gates: overview.gates.map {
        Gate(
          service: $0.service, reopensAt: $0.reopensAt.milliseconds, probe: $0.probe?.rawValue)
      })
  }
}

extension InspectDocument.Job {
  init(_ record: JobRecord, gate: JobGate?) {
    let (waits, until) = Self.wait(of: record, gate)
    self.init(
      id: record.id.rawValue, kind: record.kind, service: record.service, lane: record.lane,
      state: "\(record.state)", since: record.since.milliseconds,
      enqueuedAt: record.enqueuedAt.milliseconds, waits: waits, until: until?.milliseconds,
      starts: record.starts, failures: record.failures, progress: record.progress,
      message: record.message, reason: record.reason, isStuck: record.state.isStuck,
      hasEnded: record.state.hasEnded)
  }

  /// As far as the file tells: which network there is, only the app's worker knows.
  private static func wait(of record: JobRecord, _ gate: JobGate?) -> (String?, Date?) {
    guard record.state == .waiting else { return (nil, nil) }
    if record.isPaused { return ("the end of the app's pause", nil) }
    if !record.isRequirementMet {
      let needs = record.requirement
      return (
        needs.endpoint.map { "the endpoint \($0)" } ?? "a network (\(needs.network))",
        nil
      )
    }
    if record.isCredentialRefused { return ("another credential, since its own was refused", nil) }
    if let gate, gate.reopensAt > record.readyAt {
      return ("the gate of \(gate.service)", gate.reopensAt)
    }
    return ("its turn", record.readyAt)
  }
}

extension Date {
  /// Since 1970.
  var milliseconds: Int64 { Int64((timeIntervalSince1970 * 1000).rounded()) }
}
#endif
