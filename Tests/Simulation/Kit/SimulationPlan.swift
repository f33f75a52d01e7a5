#if Server && Rehearsal
import Tern
import TernTesting

/// What one seed decides before anything runs.
struct SimulationPlan {
  let deviceCount: Int
  /// How long users write and things go wrong.
  let busySeconds = 20
  /// How long all may take to agree once nothing goes wrong any more (INV-09).
  let quietSeconds = 600
  let keyCount: Int
  let deletes: DeleteRule
  let crashes: Double
  let lostRequests: Double
  let lostResponses: Double
  let lateDuplicates: Double
  let partitions: Bool
  let serverCrashes: Double
  let wipesServer: Bool
  let restoresServer: Bool
  /// Logs keep nothing for its age, and snapshots stand for what is trimmed.
  let trims: Bool
  /// The server waits for no reader before it trims.
  let endsLeases: Bool
  /// Milliseconds that each device's clock is ahead.
  let clockOffsets: [Int64]

  init(using generator: inout SeededGenerator) {
    deviceCount = Int.random(in: 2...5, using: &generator)
    keyCount = Int.random(in: 2...10, using: &generator)
    func swarm(_ limit: Double) -> Double {
      generator.happens(0.5) ? Double.random(in: 0...limit, using: &generator) : 0
    }
    crashes = swarm(0.02)
    lostRequests = swarm(0.2)
    lostResponses = swarm(0.2)
    lateDuplicates = swarm(0.2)
    partitions = generator.happens(0.5)
    serverCrashes = swarm(0.05)
    wipesServer = generator.happens(0.1)
    restoresServer = generator.happens(0.15)
    clockOffsets = (0..<deviceCount).map { _ in
      guard generator.happens(0.3) else { return 0 }
      let limit: Int64 = generator.happens(0.5) ? 2_000 : 86_400_000
      return Int64.random(in: -limit...limit, using: &generator)
    }
    trims = generator.happens(0.4)
    endsLeases = generator.happens(0.5)
    deletes = [.deleteWins, .updateWins, .lastWriter].randomElement(using: &generator)!
  }
}
#endif
