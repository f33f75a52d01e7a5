import TernCore

/// A gate that is not open: closed until a time, then open to one probe after the other until one
/// comes through. An open gate has no value.
package struct GateLife: Hashable, Sendable {
  /// When it was closed.
  package var since: WallTime
  package var reopens: WallTime
  /// The one job that may pass; others wait for what becomes of it.
  package var probe: JobID?

  package enum Admission: Hashable, Sendable {
    case asProbe
    case closed(until: WallTime)
    /// Until the probe tells.
    case probing
  }

  package func admission(at now: WallTime) -> Admission {
    if probe != nil { return .probing }
    return now < reopens ? .closed(until: reopens) : .asProbe
  }

  /// Closed for no longer than was meant, where the clock was set back since.
  private func mended(at now: WallTime) -> GateLife {
    guard since > now else { return self }
    let length = reopens.milliseconds - since.milliseconds
    return GateLife(
      since: now, reopens: WallTime(milliseconds: now.milliseconds + length), probe: probe)
  }

  package enum Event: Hashable, Sendable {
    /// The service said when to come back. Whoever was the probe is none any more.
    case limited(since: WallTime, until: WallTime)
    case claimed(JobID)
    /// The job reached a checkpoint, or its end.
    case passed(JobID)
    /// The job's attempt ended in any other way.
    case ended(JobID)
  }

  /// - Returns: `nil` for an open gate.
  package static func after(_ event: Event, _ gate: GateLife?) -> GateLife? {
    switch (event, gate) {
    case (.limited(let since, let until), let gate):
      // A shorter pause that is told to a job from before the closing does not shorten it.
      let reopens = max(until, gate?.mended(at: since).reopens ?? until)
      return GateLife(since: since, reopens: reopens, probe: nil)
    case (.claimed(let job), var gate?):
      precondition(
        gate.probe == nil, "job \(job) cannot pass a gate that job \(gate.probe!) tries")
      gate.probe = job
      return gate
    case (.passed(let job), let gate?): return gate.probe == job ? nil : gate
    case (.ended(let job), var gate?):
      if gate.probe == job { gate.probe = nil }
      return gate
    case (_, nil): return nil
    }
  }
}
