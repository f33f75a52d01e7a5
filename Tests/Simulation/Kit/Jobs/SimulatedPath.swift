#if Server && Rehearsal
import Tern

/// What the system says of the network, by the seed. One thread runs everything here.
final class SimulatedPath: NetworkPathSource, @unchecked Sendable {
  // Sendable, because only the seeded executor's one thread ever touches it.
  private(set) var path = NetworkPath(hasRoute: true, generation: 1)
  private var listeners: [Int: AsyncStream<NetworkPath>.Continuation] = [:]
  private var nextID = 0

  /// Nobody reaches it over an expensive network.
  static let endpoint = "https://large.example"

  func mayReach(_ endpoint: String) -> Bool { path.hasRoute && !path.isExpensive }

  /// What is there of what a job's row requires, in the words that are stored.
  func has(_ needs: String) -> Bool {
    switch needs {
    case "": true
    case "any": path.hasRoute
    case "unmetered", "any \(Self.endpoint)": path.hasRoute && !path.isExpensive
    default: false
    }
  }

  func changes() -> AsyncStream<NetworkPath> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      nextID += 1
      let id = nextID
      listeners[id] = continuation
      continuation.onTermination = { [weak self] _ in self?.listeners[id] = nil }
      continuation.yield(path)
    }
  }

  func change(hasRoute: Bool, isExpensive: Bool = false) {
    path = NetworkPath(
      hasRoute: hasRoute, generation: path.generation + 1, isExpensive: isExpensive)
    for id in listeners.keys.sorted() { listeners[id]?.yield(path) }
  }
}
#endif
