#if Server && Rehearsal
import Tern
import TernNetwork
import TernTesting

/// The network between the handlers of all processes and the services, in virtual time: requests
/// find no way, or a portal; answers are lost, cut short, or do not come.
final class SimulatedTransport: HTTPTransport, @unchecked Sendable {
  // Sendable, because only the seeded executor's one thread ever touches it.
  private let plan: JobPlan
  private let services: SimulatedServices
  private let ledger: JobLedger
  private let clock: VirtualClock
  private let path: SimulatedPath
  private let trace: SimulationTrace
  private var generator: SeededGenerator
  /// Without questions to the app's own server.
  private(set) var sends = 0

  init(
    plan: JobPlan, services: SimulatedServices, ledger: JobLedger, clock: VirtualClock,
    path: SimulatedPath, trace: SimulationTrace, seed: UInt64
  ) {
    (self.plan, self.services, self.ledger) = (plan, services, ledger)
    (self.clock, self.path, self.trace) = (clock, path, trace)
    generator = SeededGenerator(seed: seed)
  }

  func shutdown() async {}

  func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    try JobProcess.current?.checkAlive()
    let call = try SimulatedCall(request)
    trace.note("→ \(call)")
    if call.purpose != .health { sends += 1 }
    ledger.asks(call)
    let exchange = Exchange(call: call, request: request, wayChanges: path.wayChanges)
    if let answer = try await reach(exchange) { return respond(exchange, answer) }
    try await travel(exchange)
    if services.isDown(call.service) {
      throw broken(exchange, call.isLocal || generator.oneIn(2) ? .connectionRefused : .unreachable)
    }
    let isSilent = call.purpose != .health && services.happens(plan.silences)
    // Before it has done what it is asked for, or after that.
    if isSilent, generator.oneIn(2) { throw try await silence(exchange) }
    let answer = services.answer(call)
    if isSilent { throw try await silence(exchange) }
    try await travel(exchange)
    let isCut = answer.status == 200 && services.happens(plan.lostAnswers)
    if isCut, generator.oneIn(2) { throw broken(exchange, .connectionLost) }
    return respond(exchange, answer, isCut: isCut)
  }

  /// What a service answers, or does not, to a request that takes no time.
  func answerAtOnce(to request: HTTPRequest) throws -> TransferAnswer {
    let call = try SimulatedCall(request)
    trace.note("→ \(call)")
    sends += 1
    let isReached = call.isLocal || path.way == .open
    guard isReached, !services.isDown(call.service) else {
      let error = HTTPError(.unreachable, origin: call.origin, "nobody answers")
      ledger.book.meanings[.failure(error)] = .unreachable
      return .failure(error)
    }
    let answer = services.answer(call)
    ledger.book.meanings[answer.asRead] = answer.meaning
    return answer.asRead
  }

  // MARK: - On the way

  private struct Exchange {
    let call: SimulatedCall
    let request: HTTPRequest
    let wayChanges: Int
  }

  /// - Returns: what a portal answers in the service's place.
  private func reach(_ exchange: Exchange) async throws -> SimulatedAnswer? {
    let call = exchange.call
    if call.isLocal { return nil }
    if call.service == "portal", path.way != .none { return .portalPage }
    switch path.way {
    case .open: return nil
    case .captive:
      try await travel(exchange)
      if call.isSecure { throw broken(exchange, .tls) }
      return .portal(call.place, using: &generator)
    case .none:
      if !path.path.hasRoute || generator.oneIn(2) {
        throw broken(exchange, path.path.hasRoute ? .unresolvedHost : .unreachable)
      }
      throw try await silence(exchange, whileConnecting: true)
    }
  }

  private func travel(_ exchange: Exchange) async throws {
    try await clock.sleep(for: .milliseconds(Int.random(in: 1...400, using: &generator)))
    try JobProcess.current?.checkAlive()
    if !exchange.call.isLocal, path.wayChanges != exchange.wayChanges {
      throw broken(exchange, .connectionLost)
    }
  }

  /// Nothing comes until the request's time is over.
  private func silence(
    _ exchange: Exchange, whileConnecting: Bool = false
  ) async throws -> HTTPError {
    let request = exchange.request
    var limits: [(Duration, HTTPError.Code)] = [
      (.seconds(Int.random(in: 15...20, using: &generator)), .connectionLost)
    ]
    if whileConnecting { limits.append((request.connectTimeout, .connectTimeout)) }
    if let limit = request.idleTimeout { limits.append((limit, .idleTimeout)) }
    if let limit = request.timeout { limits.append((limit, .timedOut)) }
    let first = limits.min { $0.0 < $1.0 }!
    try await clock.sleep(for: first.0)
    return broken(exchange, first.1)
  }

  private func broken(_ exchange: Exchange, _ code: HTTPError.Code) -> HTTPError {
    let call = exchange.call
    trace.note("\(call) ← \(code)")
    let isUnreached = [.unreachable, .unresolvedHost, .connectTimeout, .connectionRefused]
      .contains(code)
    let meaning = isUnreached ? FailureAdvice.unreachable : .interrupted(isLocal: call.isLocal)
    ledger.hears(call, meaning)
    let error = HTTPError(code, origin: call.origin, "by the seed")
    if call.purpose == .upload { ledger.book.meanings[.failure(error)] = meaning }
    return error
  }

  // MARK: - Answers

  private func respond(
    _ exchange: Exchange, _ answer: SimulatedAnswer, isCut: Bool = false
  ) -> HTTPResponse {
    let call = exchange.call
    let shown = String(decoding: answer.body, as: UTF8.self)
    trace.note("\(call) ← \(answer.status) \(shown)\(isCut ? ", cut" : "")")
    ledger.hears(call, answer.meaning, isAnswer: true)
    if call.purpose == .upload { ledger.book.meanings[answer.asRead] = answer.meaning }
    var response = HTTPResponse(status: answer.status, headers: answer.headers)
    if answer.status == 200, answer.isDone, call.purpose == .events {
      response.body = events(exchange, isCut: isCut)
    } else if isCut {
      response.body = body(exchange, answer.body.dropLast(), isCut: true)
    } else {
      response.body = HTTPBody(answer.body)
    }
    return response
  }

  /// What is left of a stream, in whatever pieces. The service may end it early.
  private func events(_ exchange: Exchange, isCut: Bool) -> HTTPBody {
    let call = exchange.call
    let (purpose, count) = ledger.stream(call)
    var bytes = Array(": here it comes\n\n".utf8)
    for number in (call.lastEventID + 1)...max(count, call.lastEventID + 1) {
      let number = (number, services.number("\(purpose) \(number)"))
      bytes += Array("id: \(number.0)\ndata: \(number.1)\n\n".utf8)
    }
    let isWhole = !isCut && !services.happens(plan.failures / 4)
    let end = isWhole ? bytes.count : Int.random(in: 0..<bytes.count, using: &generator)
    return body(exchange, bytes[..<end], isCut: isCut)
  }

  private func body(_ exchange: Exchange, _ bytes: ArraySlice<UInt8>, isCut: Bool) -> HTTPBody {
    let rest = Rest(bytes)
    return HTTPBody { [self] in
      if rest.bytes.isEmpty {
        guard isCut else { return nil }
        if generator.oneIn(2) { throw try await silence(exchange) }
        throw broken(exchange, .connectionLost)
      }
      try await travel(exchange)
      let count = Int.random(in: 1...60, using: &generator)
      defer { rest.bytes = rest.bytes.dropFirst(count) }
      return Array(rest.bytes.prefix(count))
    }
  }

  private final class Rest: @unchecked Sendable {
    // Sendable, because only the seeded executor's one thread ever touches it.
    var bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }
  }
}
#endif
