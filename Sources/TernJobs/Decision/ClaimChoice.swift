import TernCore

/// Which job is next: of those that are due, not paused, and that their gate lets pass, the one with
/// the greatest priority, and of these the one that has been ready for longest. Nobody starves
/// behind its equals: one that becomes ready later never goes first.
package struct ClaimChoice: Hashable, Sendable {
  /// The first in order of the jobs of one kind that wait for one service, and are due.
  package struct Head: Hashable, Sendable {
    package var job: JobID
    package var kind: String
    /// `nil` for jobs without a gate.
    package var service: String?
    package var priority: Int
    package var ready: WallTime

    package init(job: JobID, kind: String, service: String?, priority: Int, ready: WallTime) {
      (self.job, self.kind, self.service) = (job, kind, service)
      (self.priority, self.ready) = (priority, ready)
    }

    func goes(before other: Head) -> Bool {
      if Planted.isActive(.priorityIgnored) { return (ready, job) < (other.ready, other.job) }
      return (other.priority, ready, job) < (priority, other.ready, other.job)
    }
  }

  package enum Decision: Hashable, Sendable {
    case claim(JobID, probeOf: String?)
    /// Until a time, or `nil`: until something happens.
    case wait(until: WallTime?)
  }

  /// - Parameters:
  ///   - next: when the first job that is not due yet is.
  package static func decide(
    _ heads: [Head], gates: [String: GateLife], pauses: JobPauses, next: WallTime?, now: WallTime
  ) -> Decision {
    var best: (head: Head, isProbe: Bool)?
    var next = next
    for head in heads where !pauses.hold(head.kind) || Planted.isActive(.pauseIgnored) {
      var isProbe = false
      let gate = Planted.isActive(.gateIgnored) ? nil : head.service.flatMap { gates[$0] }
      switch gate?.admission(at: now) {
      case .probing: continue
      case .closed(let until):
        next = min(next ?? until, until)
        continue
      case .asProbe: isProbe = true
      case nil: break
      }
      if best.map({ head.goes(before: $0.head) }) ?? true { best = (head, isProbe) }
    }
    guard let best else { return .wait(until: next) }
    return .claim(best.head.job, probeOf: best.isProbe ? best.head.service : nil)
  }
}
