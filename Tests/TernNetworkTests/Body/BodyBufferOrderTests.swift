import TernTesting
import Testing

@testable import TernNetwork

/// Between a reader's first look and its wait anything can happen, on another thread.
@Suite("Body: what has arrived of a body, in any order of what can happen")
struct BodyBufferOrderTests {
  @Test("500 seeds: no byte is lost or repeated, nobody waits in vain, and there is one end")
  func seeds() throws {
    for seed in UInt64(1)...500 {
      do {
        var world = BufferWorld(seed: seed)
        try world.run()
      } catch {
        Issue.record("seed \(seed): \(error)")
        return
      }
    }
  }
}

private struct Broken: Error { let end: BodyLedger.End }

private struct BufferWorld {
  private struct Reader {
    let beginning: BodyLedger.Beginning
    /// Looked in vain, and does not wait yet.
    var hasLooked = false
  }

  private var generator: SeededGenerator
  private var buffer: BodyBuffer<Int>
  private var ledger: BodyLedger
  private var readers: [Int: Reader] = [:]
  private var nextReader = 0

  init(seed: UInt64) {
    generator = SeededGenerator(seed: seed)
    let limit = Int.random(in: 1...6, using: &generator)
    (buffer, ledger) = (BodyBuffer(limitBytes: limit), BodyLedger(limitBytes: limit))
  }

  mutating func run() throws {
    for _ in 0..<Int.random(in: 5...80, using: &generator) {
      try step()
      try checkAtRest()
    }
    if !ledger.isOver { try end(.well) }
    while try !lookAgain() {}
    try checkAtRest()
    var end: BodyLedger.End?
    while end == nil { end = try read() }
    try ledger.checkWhole(end!)
    try OrderViolation.require(try read() == end, "the end changed")
  }

  private mutating func step() throws {
    switch Int.random(in: 0..<40, using: &generator) {
    case 0..<16: try write()
    case 16..<28: if readers.count < 2 { try read() }
    case 28..<37: _ = try lookAgain()
    case 37: try end(.well)
    case 38: try end(.failure(nextReader))
    default: try abandon(.abandoned(nextReader))
    }
  }

  private mutating func write() throws {
    if ledger.isWriterWaiting { return }
    let chunk = ledger.next(Int.random(in: 1...BodyLedger.longestChunk, using: &generator))
    if chunk.isEmpty { return }
    let (acceptance, reader) = chunk.withUnsafeBytes { buffer.write($0) }
    switch acceptance {
    case .taken: try ledger.took(chunk)
    case .full: try ledger.refused()
    case .unwanted: try ledger.unwanted()
    }
    if let reader { try answer(reader, .bytes(chunk)) }
  }

  /// - Returns: the end, where it was told.
  @discardableResult
  private mutating func read() throws -> BodyLedger.End? {
    nextReader += 1
    readers[nextReader] = Reader(beginning: ledger.beginRead())
    return try take(buffer.read(as: nil), nextReader)
  }

  /// Somebody who looked in vain begins to wait.
  ///
  /// - Returns: whether there was nobody.
  private mutating func lookAgain() throws -> Bool {
    guard let reader = readers.keys.sorted().first(where: { readers[$0]!.hasLooked }) else {
      return true
    }
    readers[reader]!.hasLooked = false
    let reading = buffer.read(as: reader)
    if case .wait = reading { return false }
    _ = try take(reading, reader)
    return false
  }

  private mutating func take(
    _ reading: BodyBuffer<Int>.Reading, _ reader: Int
  ) throws -> BodyLedger.End? {
    switch reading {
    case .wait: readers[reader]!.hasLooked = true
    case .inUse: try answer(reader, .inUse)
    case .chunk(let bytes, let resumes):
      try answer(reader, .bytes(bytes))
      if resumes { try ledger.resumed() }
    case .end:
      try answer(reader, .end(.well))
      return .well
    case .failure(let error):
      guard let broken = error as? Broken else { throw error }
      try answer(reader, .end(broken.end))
      return broken.end
    }
    return nil
  }

  private mutating func answer(_ reader: Int, _ reading: BodyLedger.Reading) throws {
    guard let waiting = readers.removeValue(forKey: reader) else {
      throw OrderViolation("reader \(reader) was answered twice")
    }
    try ledger.endRead(waiting.beginning, reading)
  }

  private mutating func end(_ how: BodyLedger.End) throws {
    let reader = buffer.end(how == .well ? nil : Broken(end: how))
    ledger.ended(how)
    if let reader { try answer(reader, .end(how)) }
  }

  private mutating func abandon(_ how: BodyLedger.End) throws {
    let reader = buffer.abandon(Broken(end: how))
    ledger.abandoned(how)
    if let reader { try answer(reader, .end(how)) }
  }

  /// Whoever only looked is about to look again, and waits for nobody.
  private func checkAtRest() throws {
    if readers.values.contains(where: \.hasLooked) { return }
    try ledger.checkAtRest()
  }
}
