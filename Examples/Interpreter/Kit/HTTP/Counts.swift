import ExampleService
import Foundation
import Synchronization

/// What a test of a client wants to know.
public struct InterpreterCounts: Codable, Sendable {
  public var requests = 0
  /// By the refusal's status.
  public var refusals: [String: Int] = [:]
  /// By direction: how often its programs were started.
  public var programs: [String: Int] = [:]
}

final class Counts: Sendable {
  private let counts = Mutex(InterpreterCounts())

  func asked() { counts.withLock { $0.requests += 1 } }
  func refused(_ status: String) { counts.withLock { $0.refusals[status, default: 0] += 1 } }

  func document(_ apertium: Apertium) async -> InterpreterCounts {
    let programs = await apertium.standings.mapValues(\.started)
    var document = counts.withLock { $0 }
    document.programs = programs
    return document
  }
}

extension Misdeeds<InterpreterMisdeed> {
  /// The refusal that is due.
  func refusal() -> Refused? {
    if take(.overloaded) != nil {
      return Refused(503, "UNAVAILABLE", "The model is overloaded. Please try again later.")
    }
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    for (kind, place) in InterpreterMisdeed.limits {
      guard let left = refusal(kind, now: now) else { continue }
      var refused = Refused(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.")
      refused.wait = .init(milliseconds: left, place: place)
      return refused
    }
    return nil
  }
}
