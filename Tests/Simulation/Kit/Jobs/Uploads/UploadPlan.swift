#if Server && Rehearsal
import TernTesting

/// What one seed decides of uploads, and of the system that carries them on.
struct UploadPlan {
  /// Of steps that may be one, how many are.
  let share: Double
  /// How likely each of these is for an upload that is begun.
  let losses: Double
  let silences: Double
  let atOnce: Double
  let delays: Double
  let repetitions: Double
  /// That it cannot be handed over now.
  let refusals: Double
  /// That handing it over takes a while.
  let slowness: Double
  /// That an upload that is cancelled is answered all the same.
  let strays: Double
  /// That a handler makes nothing of an answer.
  let misreadings: Double
  /// Users cancel and remove jobs whose uploads go on.
  let withdrawals: Bool
  /// People end the app by force, and the system drops all that it has.
  let forcedEnds: Bool

  /// - Returns: `nil` for a world without uploads. Draws from a generator of its own, so that all else of
  ///   a seed is what it would be without.
  static func drawn(for seed: UInt64) -> UploadPlan? {
    var generator = SeededGenerator(seed: seed ^ 0x75_706C_6F61_6473)
    guard generator.happens(0.3) else { return nil }
    return UploadPlan(using: &generator)
  }

  private init(using generator: inout SeededGenerator) {
    share = Double.random(in: 0.2...0.6, using: &generator)
    losses = generator.rate(to: 0.2)
    silences = generator.rate(to: 0.2)
    atOnce = generator.rate(to: 0.5)
    delays = generator.rate(to: 0.5)
    repetitions = generator.rate(to: 0.5)
    refusals = generator.rate(to: 0.2)
    slowness = generator.rate(to: 0.3)
    strays = generator.rate(to: 0.8)
    misreadings = generator.rate(to: 0.2)
    withdrawals = generator.happens(0.6)
    forcedEnds = generator.happens(0.4)
  }
}

/// A step that sends a file of the job by an upload, and another one with it.
struct UploadWork: Codable, Sendable {
  var file: String
  /// How long it may take.
  var seconds: Int
  /// How many are sent at the same time.
  var parts = 1
  /// Enqueues another job with what the answer says.
  var isFollowed = false
  /// Its handler takes no notice of an upload that goes on without it, and returns.
  var isCareless = false

  static func random(of file: String, using generator: inout SeededGenerator) -> UploadWork {
    UploadWork(
      file: file, seconds: Int.random(in: 3...30, using: &generator),
      parts: generator.oneIn(4) ? 2 : 1, isFollowed: generator.oneIn(3),
      isCareless: generator.oneIn(6))
  }
}

extension StepWork {
  /// What the queue stores of its uploads is under these.
  var uploads: [String] { (1...(upload?.parts ?? 1)).map { "\(name).up\($0)" } }
}
#endif
