import Tern
import TernJobs

/// Notes what it is told, shortly: `3 #1 done`.
struct Witness: JobObserver {
  let rig: Rig

  func observe(_ event: JobEvent) { rig.note("#\(event.job) \(Self.text(of: event))") }

  private static func text(of event: JobEvent) -> String {
    let attempt = event.attempt.map { " (\($0.number), start \($0.start))" } ?? ""
    return text(of: event.change) + attempt
  }

  private static func text(of change: JobEvent.Change) -> String {
    switch change {
    case .enqueued(let delay): "enqueued, due in \(delay / .seconds(1))"
    case .replaced: "replaced"
    case .held(let hold): "held by \(hold)"
    case .started(let waited, let isProbe):
      "started after \(waited / .seconds(1))\(isProbe ? " as probe" : "")"
    case .stepped(let name): "stepped \(name)"
    case .saved(let name): "saved \(name)"
    case .done(let ran, let age): "done in \(ran / .seconds(1)) at \(age / .seconds(1))"
    case .failed(let failure, _): "failed, \(failure.counts ? "counts" : "free"), \(failure.next)"
    case .stopped(let ran): "stopped after \(ran.map { "\($0 / .seconds(1))" } ?? "nobody knows")"
    case .died(let deaths): "died \(deaths)"
    case .entrusted: "entrusted"
    case .abandoned: "abandoned"
    case .parked(let cause, _, _): "parked: \(cause)"
    case .retried: "retried"
    case .cancelled: "cancelled"
    case .removed: "removed"
    }
  }
}

extension Rig {
  /// With all that happens noted.
  static func observed(_ body: (Rig) throws -> Void) throws {
    try run { rig in
      rig.observers = [Witness(rig: rig)]
      try body(rig)
    }
  }
}
