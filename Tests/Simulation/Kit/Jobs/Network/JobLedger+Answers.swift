#if Server && Rehearsal
import Tern
import TernNetwork
import TernTesting

/// What handlers ask on the network, and what they are told there: drawn by the simulation, so that
/// what Tern makes of it is compared with something else.
extension JobLedger {
  /// A request is on its way, for the first time or where a redirect leads.
  func asks(_ call: SimulatedCall) {
    guard let (id, process) = call.asker else { return }
    if isHeld(id, by: process) {
      entries[id]?.attempt?.told = nil
      entries[id]?.attempt?.answeredIn = nil
      switch call.purpose {
      case .work: checkKey(call.key, call.body, of: id, call.name)
      case .events: checkResumption(call, of: id)
      case .upload, .health: break
      }
    }
    guard call.isFirst else { return }
    send(id, call.purpose == .events ? "\(call.name).\(call.lastEventID + 1)" : call.name, process)
  }

  /// What came of it: an answer, or none.
  func hears(_ call: SimulatedCall, _ meaning: FailureAdvice?, isAnswer: Bool = false) {
    guard let (id, process) = call.asker, isHeld(id, by: process) else { return }
    entries[id]?.attempt?.told = meaning
    // Over plain HTTP anybody can have answered, and this machine answers without a network.
    if isAnswer, call.isSecure, call.isFirst {
      entries[id]?.attempt?.answeredIn = path.path.generation
    }
  }

  /// Who has an answer that nobody else can have given knows of a route.
  func checkBelieved(_ id: Int64, _ process: JobProcess) {
    guard isHeld(id, by: process), let generation = entries[id]?.attempt?.answeredIn else { return }
    if !path.path.hasRoute, path.path.generation == generation {
      fail(.drains, "job \(id) was answered, and there is still said to be no route")
    }
  }

  /// What the failure of a handler means: where a request failed, what was drawn for that.
  func advice(of error: any Error, _ id: Int64, _ process: JobProcess) -> FailureAdvice {
    let said = (error as? any AdvisingError)?.advice ?? .failed
    let isOfRequest = error is HTTPProblem || error is HTTPError || error is EventStreamError
    guard isOfRequest, isHeld(id, by: process), let attempt = entries[id]?.attempt,
      !attempt.isUploading
    else { return said }
    if attempt.told == nil { fail(.drains, "job \(id) failed of what nobody said: \(error)") }
    return attempt.told ?? said
  }

  /// What names a stream's events, and how many there are.
  func stream(_ call: SimulatedCall) -> (purpose: String, count: Int) {
    let work = call.job.flatMap { entries[$0]?.work }
    let step = work?.steps.first { $0.name == call.name }
    return ("\(work?.token ?? 0) \(call.name)", step?.events ?? 0)
  }

  /// What is sent for one thing has one key, which is its own, and the same bytes.
  func checkKey(_ key: String?, _ body: [UInt8], of id: Int64, _ name: String) {
    guard let token = entries[id]?.work.token else { return }
    let purpose = "\(token) \(name)"
    guard let key else {
      return fail(.effectsHappenOnce, "job \(id) sends \(name) without its key")
    }
    if book.keys[purpose, default: key] != key || book.purposes[key, default: purpose] != purpose {
      fail(.effectsHappenOnce, "job \(id) sends \(name) with the key \(key), and not its own")
    }
    if book.bodies[key, default: body] != body {
      fail(.effectsHappenOnce, "job \(id) sends something else as \(name) than before")
    }
    (book.keys[purpose], book.purposes[key], book.bodies[key]) = (key, purpose, body)
  }

  private func checkResumption(_ call: SimulatedCall, of id: Int64) {
    let steps = entries[id]?.work.steps ?? []
    guard let entry = entries[id], let step = steps.first(where: { $0.name == call.name }) else {
      return
    }
    let count = entry.position(step)
    if count != call.lastEventID {
      fail(
        .effectsHappenOnce,
        "job \(id) asks for what follows event \(call.lastEventID) of \(call.name), and \(count) "
          + "are committed")
    }
  }

  private func isHeld(_ id: Int64, by process: JobProcess) -> Bool {
    rows[id]?.state == .running && entries[id]?.attempt?.run == process.run
  }
}

extension SimulatedCall {
  fileprivate var asker: (Int64, JobProcess)? {
    guard let id = job, let process = JobProcess.current else { return nil }
    return (id, process)
  }
}
#endif
