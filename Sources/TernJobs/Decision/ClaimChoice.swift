import TernCore

/// Which job is next: of those that are due, not paused, within their pace, and that their gate
/// lets pass, the one with the greatest priority, and of these the one that has been ready for
/// longest. Nobody starves behind its equals: one that becomes ready later never goes first.
package struct ClaimChoice: Hashable, Sendable {
  /// The first in order of the jobs of one kind, lane and need that wait for one service,
  /// and are due.
  package struct Head: Hashable, Sendable {
    package var job: JobID
    package var lane: JobLane
    /// `nil` for jobs without a gate.
    package var service: String?
    /// A ``JobRequirement``, as it is stored; empty for none.
    package var needs: String
    package var priority: Int
    package var ready: WallTime

    package init(
      job: JobID, lane: JobLane, service: String?, needs: String = "", priority: Int,
      ready: WallTime
    ) {
      (self.job, self.lane, self.service, self.needs) = (job, lane, service, needs)
      (self.priority, self.ready) = (priority, ready)
    }

    func goes(before other: Head) -> Bool {
      if Planted.isActive(.priorityIgnored) { return (ready, job) < (other.ready, other.job) }
      return (other.priority, ready, job) < (priority, other.ready, other.job)
    }
  }

  /// What a pace says to one more job.
  package enum Hold: Hashable, Sendable {
    /// Until the network has what the job requires.
    case unmet
    /// Until the app has another credential.
    case refused
    /// Until one that runs has ended.
    case busy
    /// Until there is a token.
    case until(WallTime)
  }

  package enum Decision: Hashable, Sendable {
    case claim(Head, isProbe: Bool)
    /// Until a time, or `nil`: until something happens.
    ///
    /// - Parameter paced: when the first job that a rate holds back may go.
    case wait(until: WallTime?, paced: WallTime?)
  }

  /// - Parameters:
  ///   - next: when the first job that is not due yet is.
  package static func decide(
    _ heads: [Head], gates: [ExactText: GateLife], pauses: JobPauses, next: WallTime?,
    now: WallTime, hold: (Head) throws -> Hold? = { _ in nil }
  ) rethrows -> Decision {
    var best: (head: Head, isProbe: Bool)?
    var (next, paced) = (next, nil as WallTime?)
    for head in heads where !pauses.isPaused(head.lane.kind) || Planted.isActive(.pauseIgnored) {
      var isProbe = false
      let isIgnored = Planted.isActive(.gateIgnored)
      let gate = isIgnored ? nil : head.service.flatMap { gates[ExactText($0)] }
      switch gate?.admission(at: now) {
      case .probing: continue
      case .closed(let until):
        next = min(next ?? until, until)
        continue
      case .asProbe: isProbe = true
      case nil: break
      }
      guard best.map({ head.goes(before: $0.head) }) ?? true else { continue }
      switch try hold(head) {
      case .busy, .unmet, .refused: continue
      case .until(let time):
        paced = min(paced ?? time, time)
        continue
      case nil: best = (head, isProbe)
      }
    }
    if let best { return .claim(best.head, isProbe: best.isProbe) }
    return .wait(until: [next, paced].compactMap(\.self).min(), paced: paced)
  }
}

extension ClaimChoice {
  /// Why a job that is due is not claimed; `nil` where only a free slot is missing.
  static func reason(
    _ head: Head, gates: [ExactText: GateLife], pauses: JobPauses, now: WallTime,
    hold: (Head) throws -> Hold?
  ) rethrows -> JobEvent.Hold? {
    if pauses.isPaused(head.lane.kind) { return .pause }
    switch head.service.flatMap({ gates[ExactText($0)] })?.admission(at: now) {
    case .probing, .closed: return .gate
    case .asProbe, nil: break
    }
    switch try hold(head) {
    case .unmet: return .requirement
    case .refused: return .credential
    case .busy, .until: return .pace
    case nil: return nil
    }
  }
}

/// Jobs of a kind that share a pace: those of one lane, or, where it has no name, all.
package struct JobLane: Hashable, Sendable {
  package var kind: String
  package var name: String

  package init(kind: String, name: String = "") {
    (self.kind, self.name) = (kind, name)
  }

  package var ofKind: JobLane { JobLane(kind: kind) }

  package static func == (one: JobLane, other: JobLane) -> Bool {
    (ExactText(one.kind), ExactText(one.name)) == (ExactText(other.kind), ExactText(other.name))
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(ExactText(kind))
    hasher.combine(ExactText(name))
  }
}
