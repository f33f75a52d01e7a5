#if Server && Rehearsal
import Foundation
import Tern
import TernNetwork
import TernTesting

/// What carries uploads on for all processes of a world and outlives each of them, as a phone's
/// system does: it loses some, answers at once, late, twice, never or to nobody, and after it was
/// told not to.
final class SimulatedTransfers: @unchecked Sendable {
  // Sendable, because only the seeded executor's one thread ever touches it.
  struct Upload {
    /// Tells it from another one by the same id.
    let serial: Int
    let file: URL
    let content: Data
    let request: HTTPRequest
    /// With the time at which it came.
    var answer: (TransferAnswer, at: Int64)?
  }

  private let plan: UploadPlan
  private let network: SimulatedTransport
  private let services: SimulatedServices
  private let ledger: JobLedger
  private let clock: VirtualClock
  private let trace: SimulationTrace
  private var generator: SeededGenerator
  private var serials = 0
  /// What it has and was not told to forget.
  private(set) var held: [String: Upload] = [:]
  private var accepted: [String: Int] = [:]
  private var lost: [String: Int] = [:]
  /// All that was ever answered.
  private(set) var answers: [String: Set<TransferAnswer>] = [:]
  /// Who of the living is told.
  private var listener: AsyncStream<(String, TransferAnswer)>.Continuation?
  private let (stream, begun) = AsyncStream.makeStream(of: (id: String, Upload).self)

  init(
    plan: UploadPlan, network: SimulatedTransport, services: SimulatedServices, ledger: JobLedger,
    clock: VirtualClock, trace: SimulationTrace, seed: UInt64
  ) {
    (self.plan, self.network, self.services, self.ledger) = (plan, network, services, ledger)
    (self.clock, self.trace) = (clock, trace)
    generator = SeededGenerator(seed: seed)
  }

  private func happens(_ probability: Double) -> Bool {
    services.isFaulty && generator.happens(probability)
  }

  // MARK: - For processes

  /// It can take a while until it is asked; that it is not wanted any more does not stop it.
  func takeTime() async {
    guard happens(plan.slowness) else { return }
    // Cut short in a task that is cancelled.
    try? await clock.sleep(for: .milliseconds(Int.random(in: 1...2000, using: &generator)))
  }

  /// Throws where the system does not take it, which a queue may try again.
  func begin(_ id: String, _ request: HTTPRequest, file: URL) throws {
    if held[id] != nil { return }
    if happens(plan.refusals) {
      trace.note("upload \(id) is not taken")
      throw HTTPError(.fileUnreadable, origin: nil, "the device is locked")
    }
    guard let content = try? Data(contentsOf: file) else {
      throw HTTPError(.fileMissing, origin: nil, "there is none at \(file.lastPathComponent)")
    }
    trace.note("upload \(id) begins")
    ledger.checkContent(id, content, key: request.headers["Idempotency-Key"])
    accepted[id, default: 0] += 1
    if accepted[id]! > 1 + lost[id, default: 0] {
      ledger.fail(.drains, "the upload \(id) was begun again, and the system had not lost it")
    }
    serials += 1
    var request = request
    request.body = .bytes(Array(content))
    let upload = Upload(serial: serials, file: file, content: content, request: request)
    held[id] = upload
    if happens(plan.losses / 2) { return lose(id) }
    if happens(plan.silences) { return trace.note("upload \(id) will never be answered") }
    if happens(plan.atOnce) {
      answer(id, upload, with: try network.answerAtOnce(to: request))
    } else {
      begun.yield((id, upload))
    }
  }

  func forget(_ id: String) {
    guard let upload = held.removeValue(forKey: id) else { return }
    trace.note("upload \(id) is \(upload.answer == nil ? "cancelled" : "forgotten")")
    if let (answer, _) = upload.answer, happens(plan.repetitions) { listener?.yield((id, answer)) }
  }

  /// Tells what is answered from now on, and what was, as long as it is not forgotten.
  func listen() -> AsyncStream<(String, TransferAnswer)> {
    let (stream, continuation) = AsyncStream.makeStream(of: (String, TransferAnswer).self)
    listener = continuation
    for (id, upload) in held.sorted(by: { $0.key < $1.key }) {
      if let (answer, _) = upload.answer { continuation.yield((id, answer)) }
    }
    return stream
  }

  // MARK: - The system

  /// Somebody ended the app by force.
  func loseEverything() {
    for id in held.keys.sorted() { lose(id) }
  }

  private func lose(_ id: String) {
    trace.note("upload \(id) is lost")
    held[id] = nil
    lost[id, default: 0] += 1
  }

  /// Carries on what was begun, whichever process lives, until the task is cancelled.
  func work() async {
    await withDiscardingTaskGroup { group in
      for await (id, upload) in stream { group.addTask { await self.carry(id, upload) } }
      group.cancelAll()
    }
  }

  private func carry(_ id: String, _ upload: Upload) async {
    let isStray = happens(plan.strays)
    func checkWanted() throws {
      if !isStray, held[id]?.serial != upload.serial { throw CancellationError() }
    }
    do {
      if happens(plan.delays) {
        try await clock.sleep(for: .milliseconds(Int.random(in: 400...40_000, using: &generator)))
      }
      if happens(plan.losses), held[id]?.serial == upload.serial { return lose(id) }
      try checkWanted()
      let given = try await answer(to: upload.request)
      try checkWanted()
      answer(id, upload, with: given)
      if happens(plan.repetitions) {
        try await clock.sleep(for: .milliseconds(Int.random(in: 1...8000, using: &generator)))
        listener?.yield((id, given))
      }
    } catch {
      // Nobody wants it, or the world is at its end.
    }
  }

  private func answer(_ id: String, _ upload: Upload, with answer: TransferAnswer) {
    answers[id, default: []].insert(answer)
    if held[id]?.serial == upload.serial {
      ledger.checkFile(id, upload)
      held[id]?.answer = (answer, clock.milliseconds)
    }
    trace.note("upload \(id) ← \(describe(answer))")
    listener?.yield((id, answer))
  }

  private func describe(_ answer: TransferAnswer) -> String {
    switch answer {
    case .response(let status, _, let body): "\(status) \(String(decoding: body, as: UTF8.self))"
    case .failure(let error): "\(error.code)"
    }
  }

  /// As the system reads it, which knows nothing of Tern.
  private func answer(to request: HTTPRequest) async throws -> TransferAnswer {
    do {
      let response = try await network.send(request)
      let body = try await response.collect(limit: 1000)
      return .response(status: response.status, headers: response.headers, body: body)
    } catch let error as HTTPError {
      return .failure(error)
    }
  }
}
#endif
