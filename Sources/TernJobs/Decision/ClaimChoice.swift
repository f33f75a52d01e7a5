import TernCore

/// Which job is next: of those that are ready and that their gate lets pass, the one that has been
/// ready for longest. Nobody starves: a job that becomes ready later never goes first.
package struct ClaimChoice: Hashable, Sendable {
  /// The first in order of the jobs that wait for one service.
  package struct Head: Hashable, Sendable {
    package var job: JobID
    /// `nil` for jobs without a gate.
    package var service: String?
    package var ready: WallTime

    package init(job: JobID, service: String?, ready: WallTime) {
      (self.job, self.service, self.ready) = (job, service, ready)
    }
  }

  package enum Decision: Hashable, Sendable {
    case claim(JobID, probeOf: String?)
    /// Until a time, or `nil`: until something happens.
    case wait(until: WallTime?)
  }

  package static func decide(
    _ heads: [Head], gates: [String: GateLife], now: WallTime
  ) -> Decision {
    var best: (head: Head, isProbe: Bool)?
    var next: WallTime?
    for head in heads {
      var ready = head.ready
      var isProbe = false
      let gate = Planted.isActive(.gateIgnored) ? nil : head.service.flatMap { gates[$0] }
      switch gate?.admission(at: now) {
      case .probing: continue
      case .closed(let until): ready = max(ready, until)
      case .asProbe: isProbe = true
      case nil: break
      }
      if ready > now {
        next = min(next ?? ready, ready)
      } else if best.map({ (head.ready, head.job) < ($0.head.ready, $0.head.job) }) ?? true {
        best = (head, isProbe)
      }
    }
    guard let best else { return .wait(until: next) }
    return .claim(best.head.job, probeOf: best.isProbe ? best.head.service : nil)
  }
}
