import Foundation
import TernTesting
import Testing

@testable import TernNetwork

@Suite("Body: a body between the wire and its readers, in any order of what can happen")
struct BodyPipeOrderTests {
  @Test("500 seeds: no byte is lost or repeated, nobody waits in vain, and one end is told")
  func pipe() {
    check { limit in PipeEnds(limit) }
  }

  #if os(Linux) && Rehearsal
  @Test("500 seeds: what URLSession reads ahead comes in order too, and before the end")
  func exchange() throws {
    let origin = try HTTPRequest(.get, "http://127.0.0.1/").validated()
    check { limit in ExchangeEnds(origin, limit) }
  }
  #endif

  private func check(_ makeEnds: (Int) -> any BodyEnds) {
    for seed in UInt64(1)...500 {
      do {
        try PipeWorld(seed: seed, makeEnds).run()
      } catch {
        Issue.record("seed \(seed): \(error)")
        return
      }
    }
  }
}

/// Both ends of a body: what a transport's thread calls, and what a reader does.
private protocol BodyEnds: Sendable {
  /// Whether it refuses what there is no room for and what nobody wants, and takes a second end.
  var refuses: Bool { get }
  func write(_ chunk: [UInt8]) -> BodyBuffer<Never>.Acceptance
  func read(_ resume: () -> Void) async throws -> [UInt8]?
  func end(_ how: BodyLedger.End)
  func abandon(_ how: BodyLedger.End)
}

private struct Broken: Error { let end: BodyLedger.End }

private struct PipeEnds: BodyEnds {
  let pipe: BodyPipe
  let refuses = true

  init(_ limit: Int) { pipe = BodyPipe(limitBytes: limit) }

  func write(_ chunk: [UInt8]) -> BodyBuffer<Never>.Acceptance {
    chunk.withUnsafeBytes { pipe.write($0) }
  }

  func read(_ resume: () -> Void) async throws -> [UInt8]? { try await pipe.read(resume: resume) }
  func end(_ how: BodyLedger.End) { pipe.end(how == .well ? nil : Broken(end: how)) }
  func abandon(_ how: BodyLedger.End) { pipe.abandon(Broken(end: how)) }
}

#if os(Linux) && Rehearsal
private struct ExchangeEnds: BodyEnds {
  let exchange: URLSessionExchange
  let refuses = false

  init(_ origin: HTTPOrigin, _ limit: Int) {
    exchange = URLSessionExchange(origin: origin, bodyBufferBytes: limit, upload: nil)
  }

  func write(_ chunk: [UInt8]) -> BodyBuffer<Never>.Acceptance {
    exchange.receive(Data(chunk))
    return .taken
  }

  func read(_ resume: () -> Void) async throws -> [UInt8]? {
    try await exchange.pipe.read {
      exchange.readOn()
      resume()
    }
  }

  /// The number of a failure goes along as its text.
  func end(_ how: BodyLedger.End) {
    guard case .failure(let number) = how else { return exchange.end(nil) }
    exchange.end(HTTPError(.connectionLost, origin: exchange.origin, "\(number)"))
  }

  func abandon(_ how: BodyLedger.End) { exchange.abandon(Broken(end: how)) }
}
#endif

/// `@unchecked Sendable`: only the seeded executor's one thread touches it.
private final class PipeWorld: @unchecked Sendable {
  private var generator: SeededGenerator
  private let executor: SeededExecutor
  private let clock = VirtualClock()
  private let ends: any BodyEnds
  private var ledger: BodyLedger
  /// Reads that were asked for and have not returned.
  private var asked = 0
  private var told: BodyLedger.End?
  private var failures = 0
  private var violation: (any Error)?

  init(seed: UInt64, _ makeEnds: (Int) -> any BodyEnds) {
    generator = SeededGenerator(seed: seed)
    executor = SeededExecutor(seed: seed)
    let limit = Int.random(in: 1...6, using: &generator)
    ends = makeEnds(limit)
    ledger = BodyLedger(limitBytes: ends.refuses ? limit : nil)
  }

  func run() throws {
    for _ in 0..<Int.random(in: 5...80, using: &generator) { try step() }
    if !ledger.isOver { end(.well) }
    try rest()
    try OrderViolation.require(asked == 0, "\(asked) reads go on after the end")
    told = nil
    for _ in 0..<200 where told == nil { try readToRest() }
    guard let end = told else { throw OrderViolation("there is no end") }
    try ledger.checkWhole(end)
    told = nil
    try readToRest()
    try OrderViolation.require(told == end, "the end changed")
  }

  private func step() throws {
    switch Int.random(in: 0..<50, using: &generator) {
    case 0..<16: try write()
    case 16..<28: if asked < 2 { read() }
    case 28..<40: try go(Int.random(in: 1...3, using: &generator))
    case 40..<47: try rest()
    case 47..<49 where ledger.end != nil && !ends.refuses: break
    case 47: end(.well)
    case 48:
      failures += 1
      end(.failure(failures))
    default:
      failures += 1
      ends.abandon(.abandoned(failures))
      ledger.abandoned(.abandoned(failures))
    }
  }

  private func write() throws {
    if ledger.isWriterWaiting || (ledger.isOver && !ends.refuses) { return }
    let chunk = ledger.next(Int.random(in: 0...BodyLedger.longestChunk, using: &generator))
    switch ends.write(chunk) {
    case .taken: try ledger.took(chunk)
    case .full: try ledger.refused()
    case .unwanted: try ledger.unwanted()
    }
  }

  private func end(_ how: BodyLedger.End) {
    ends.end(how)
    ledger.ended(how)
  }

  private func read() {
    asked += 1
    Task(executorPreference: executor) { [self] in
      let beginning = ledger.beginRead()
      let reading = await reading()
      asked -= 1
      noting { try ledger.endRead(beginning, reading) }
    }
  }

  private func reading() async -> BodyLedger.Reading {
    do {
      let bytes = try await ends.read { if ends.refuses { noting { try ledger.resumed() } } }
      if let bytes { return .bytes(bytes) }
      return told(.well)
    } catch let broken as Broken {
      return told(broken.end)
    } catch let error as HTTPError where error.code == .bodyInUse {
      return .inUse
    } catch let error as HTTPError where error.code == .connectionLost {
      return told(.failure(Int(error.detail) ?? -1))
    } catch {
      violation = violation ?? error
      return .inUse
    }
  }

  private func told(_ end: BodyLedger.End) -> BodyLedger.Reading {
    told = end
    return .end(end)
  }

  private func noting(_ body: () throws -> Void) {
    do { try body() } catch { violation = violation ?? error }
  }

  private func readToRest() throws {
    read()
    try rest()
  }

  private func go(_ jobs: Int) throws {
    var left = jobs
    _ = executor.run(clock) {
      left -= 1
      return left < 0
    }
    if let violation { throw violation }
  }

  private func rest() throws {
    try go(.max)
    try ledger.checkAtRest()
  }
}
