#if Server && Rehearsal
import Tern
import TernJobs
import TernTesting

/// What one seed decides of a world of jobs before anything runs.
struct JobPlan {
  /// How long users enqueue and things go wrong.
  let busySeconds: Int
  /// How long all may take to drain once nothing goes wrong any more (INV-09): more than the longest
  /// wait for a gate and the longest for the network, and some retries.
  let quietSeconds = 300
  let processCount: Int
  /// In each process.
  let userCount: Int
  let jobCount: Int
  let concurrency: Int
  let limits: JobLimits

  let crashes: Double
  let kills: Bool
  let cancels: Bool
  let wallJumps: Bool
  let networkChanges: Bool
  /// What the system says of the network need not be so.
  let wrongPaths: Bool
  let locks: Bool
  let outages: Bool
  let pauses: Bool
  let failures: Double
  let permanentFailures: Double
  let lostAnswers: Double
  let silences: Double
  let redirects: Double
  let refusedCommits: Double
  let vanishingHandlers: Bool
  let changingTypes: Bool
  let unreadablePayloads: Bool
  let removals: Bool
  let retries: Bool
  let oversized: Bool
  let priorities: Bool
  let delays: Bool
  let cancellations: Bool
  let uniques: Bool
  let holds: Bool
  let lanes: Bool
  /// Of a kind, and of each of its lanes.
  let paces: [String: (kind: JobPace, lane: JobPace)]
  let budget: JobRate?
  let requirements: Bool
  /// `nil` in a world without them.
  let uploads: UploadPlan?
  /// How often a handler never returns, and how long one may go on without progress where some don't.
  let hangs: Double
  let attemptLimit: Duration?

  init(seed: UInt64, using generator: inout SeededGenerator) {
    uploads = UploadPlan.drawn(for: seed)
    var own = SeededGenerator(seed: seed ^ 0x6861_6E67)
    // What one has not answered that is fenced, its uploads, is not modelled.
    hangs = uploads == nil && own.oneIn(4) ? Double.random(in: 0.01...0.1, using: &own) : 0
    // Longer than any request, and then long enough for a handler to be fenced.
    attemptLimit = hangs > 0 ? .seconds(60) : .seconds(600)
    busySeconds = hangs > 0 ? 150 : 60
    processCount = generator.oneIn(3) ? 2 : 1
    userCount = Int.random(in: 1...3, using: &generator)
    jobCount = Int.random(in: 3...16, using: &generator)
    concurrency = Int.random(in: 1...4, using: &generator)
    limits = .drawn(withUploads: uploads != nil, using: &generator)
    crashes = generator.rate(to: 0.05)
    failures = generator.rate(to: 0.5)
    permanentFailures = generator.rate(to: 0.05)
    lostAnswers = generator.rate(to: 0.2)
    silences = generator.rate(to: 0.1)
    refusedCommits = generator.rate(to: 0.1)
    kills = generator.happens(0.5)
    cancels = generator.happens(0.3)
    wallJumps = generator.happens(0.3)
    networkChanges = generator.happens(0.5)
    locks = generator.happens(0.3)
    outages = generator.happens(0.4)
    pauses = generator.happens(0.5)
    vanishingHandlers = generator.happens(0.3)
    changingTypes = generator.happens(0.2)
    unreadablePayloads = generator.happens(0.2)
    removals = generator.happens(0.3)
    retries = generator.happens(0.5)
    oversized = generator.happens(0.3)
    priorities = generator.happens(0.4)
    delays = generator.happens(0.4)
    cancellations = generator.happens(0.3)
    uniques = generator.happens(0.4)
    holds = generator.happens(0.3)
    func rate(_ burst: ClosedRange<Int>, seconds: ClosedRange<Int>) -> JobRate? {
      guard generator.oneIn(2) else { return nil }
      return JobRate(
        1, per: .seconds(Int.random(in: seconds, using: &generator)),
        burst: Int.random(in: burst, using: &generator))
    }
    func pace() -> JobPace {
      let concurrency = generator.oneIn(2) ? Int.random(in: 1...2, using: &generator) : nil
      return JobPace(concurrency: concurrency, rate: rate(1...3, seconds: 1...3))
    }
    lanes = generator.happens(0.3)
    var paces: [String: (kind: JobPace, lane: JobPace)] = [:]
    for kind in [Scan.name, Upload.name, Translate.name, Index.name] where lanes {
      if generator.oneIn(2) { paces[kind] = (pace(), pace()) }
    }
    self.paces = paces
    budget = rate(2...6, seconds: 2...5)
    requirements = generator.happens(0.3)
    redirects = generator.rate(to: 0.3)
    wrongPaths = generator.happens(0.7)
  }
}

extension JobLimits {
  fileprivate static func drawn(
    withUploads hasUploads: Bool, using generator: inout SeededGenerator
  ) -> JobLimits {
    var limits = JobLimits()
    limits.jobs = Int.random(in: 3...12, using: &generator)
    limits.followUps = limits.jobs % 4
    limits.keptDone = Int.random(in: 0...5, using: &generator)
    limits.filesPerJob = 3
    limits.fileBytes = 64
    limits.checkpointsPerJob = 14
    // What is stored of an upload has a name, two times and an answer.
    limits.checkpointBytes = hasUploads ? 800 : 200
    limits.payloadBytes = 1500
    limits.messageLength = 20
    limits.deaths = Int.random(in: 2...5, using: &generator)
    limits.failedAttemptsPerJob = 3
    return limits
  }
}

extension SeededGenerator {
  /// How often a fault happens in one world: not at all in half of them.
  mutating func rate(to limit: Double) -> Double {
    happens(0.5) ? Double.random(in: 0...limit, using: &self) : 0
  }
}
#endif
