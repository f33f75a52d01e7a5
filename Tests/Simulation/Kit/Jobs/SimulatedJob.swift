#if Server && Rehearsal
import Tern
import TernJobs
import TernTesting

/// A kind of job, with its service and policy.
protocol SimulatedKind: Sendable {
  static var name: String { get }
  static var service: String? { get }
  static var retry: RetryPolicy { get }
}

enum Scan: SimulatedKind {
  static let name = "scan"
  static let service: String? = "recogniser"
  static let retry = RetryPolicy.standard
}

/// Passes the same gate as ``Scan``.
enum Upload: SimulatedKind {
  static let name = "upload"
  static let service: String? = "recogniser"
  static let retry = RetryPolicy.never
}

enum Translate: SimulatedKind {
  static let name = "translate"
  static let service: String? = "translator"
  static let retry = RetryPolicy.doubling(
    from: .seconds(3), limit: .seconds(5), times: 2, jitter: .equal)
}

/// Passes no gate, whomever it calls.
enum Index: SimulatedKind {
  static let name = "index"
  static let service: String? = nil
  static let retry = RetryPolicy(delays: [.seconds(1), .seconds(2), .seconds(4)], jitter: .full)
}

struct SimulatedJob<Kind: SimulatedKind>: Job {
  static var kind: String { Kind.name }
  static var service: String? { Kind.service }
  static var retry: RetryPolicy { Kind.retry }
  static var pace: JobPace { paces.kind }
  static var lanePace: JobPace { paces.lane }
  static var attemptLimit: Duration? { JobProcess.current?.world.plan.attemptLimit }
  private static var paces: (kind: JobPace, lane: JobPace) {
    JobProcess.current?.world.plan.paces[kind] ?? (.unbounded, .unbounded)
  }
  var work: JobWork
}

/// What one job is to do.
struct JobWork: Codable, Sendable {
  /// Names the job in the app's tables and in the trace.
  var token: Int
  var steps: [StepWork]
  var isReadable = true
  /// Makes the payload too large.
  var padding = ""

  init(token: Int, steps: [StepWork]) {
    (self.token, self.steps) = (token, steps)
  }

  private enum CodingKeys: String, CodingKey { case token, steps, isReadable, padding }

  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    token = try values.decode(Int.self, forKey: .token)
    steps = try values.decode([StepWork].self, forKey: .steps)
    isReadable = try values.decode(Bool.self, forKey: .isReadable)
    guard isReadable else {
      throw DecodingError.dataCorruptedError(
        forKey: .isReadable, in: values, debugDescription: "from another version")
    }
  }
}

/// One part of a job: a step that calls a service once, or a stream of which each event is saved.
struct StepWork: Codable, Sendable {
  var name: String
  var service: String
  /// Of a stream; 0 for a step.
  var events = 0
  /// Seconds that are asked for before the step.
  var deadline: Int?
  var reports = false
  /// Files that the step makes or gives up.
  var creates: String?
  var releases: String?
  /// Characters of the result beside the answer.
  var padding = 0
  var upload: UploadWork?
}

extension JobWork {
  /// - Parameter files: the names of what will be attached.
  static func random(
    token: Int, files: [String], plan: JobPlan, using generator: inout SeededGenerator
  ) -> JobWork {
    var left = files
    var steps: [StepWork] = []
    for number in 0..<Int.random(in: 1...4, using: &generator) {
      let services = ["recogniser", "translator", "local"]
      var step = StepWork(name: "s\(number)", service: services.randomElement(using: &generator)!)
      if generator.oneIn(4) {
        step.events = Int.random(in: 1...4, using: &generator)
      } else {
        if generator.oneIn(4) {
          step.creates = ["crop", "photo"].randomElement(using: &generator)!
        }
        if let uploads = plan.uploads, let file = left.last,
          steps.count(where: { $0.upload != nil }) < 2, generator.happens(uploads.share)
        {
          step.upload = .random(of: file, using: &generator)
          step.creates = nil
        }
        if generator.oneIn(3), let name = left.popLast() { step.releases = name }
        if let name = step.creates { left.append(name) }
      }
      if generator.oneIn(5) { step.deadline = Int.random(in: 1...60, using: &generator) }
      step.reports = generator.oneIn(4)
      if plan.oversized, generator.oneIn(20) { step.padding = 1000 }
      steps.append(step)
    }
    var work = JobWork(token: token, steps: steps)
    work.isReadable = !(plan.unreadablePayloads && generator.oneIn(4))
    if plan.oversized, generator.oneIn(15) { work.padding = String(repeating: "x", count: 2000) }
    return work
  }
}
#endif
