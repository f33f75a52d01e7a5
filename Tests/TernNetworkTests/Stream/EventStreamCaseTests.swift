import TernNetwork
import Testing

@Suite("Stream: streams of other projects' tests, in whatever pieces they come")
struct EventStreamCaseTests {
  private struct Reading: Hashable {
    var items: [EventStreamParser.Item] = []
    var lastEventID = ""
    var reconnectionTime: Duration?
  }

  private func read(_ test: EventStreamCase, cutAt cuts: some Sequence<Int>) throws -> Reading {
    var parser = EventStreamParser(limit: test.limit)
    var reading = Reading()
    var start = 0
    for end in Array(cuts) + [test.bytes.count] {
      reading.items += try parser.consume(test.bytes[start..<end])
      start = end
    }
    (reading.lastEventID, reading.reconnectionTime) = (parser.lastEventID, parser.reconnectionTime)
    return reading
  }

  @Test("the stream is read as its test wants it", arguments: EventStreamCase.all)
  func whole(test: EventStreamCase) throws {
    let reading = try read(test, cutAt: [])
    let events = reading.items.compactMap { if case .event(let event) = $0 { event } else { nil } }
    #expect(events == test.events)
    if let id = test.lastEventID { #expect(reading.lastEventID == id) }
    if let time = test.reconnectionTime { #expect(reading.reconnectionTime == time) }
  }

  @Test(
    "in pieces of every size, cut in two at every byte, and in pieces that chance draws",
    arguments: EventStreamCase.all)
  func pieces(test: EventStreamCase) throws {
    let count = test.bytes.count
    let whole = try read(test, cutAt: [])
    // A long stream repeats itself: some sizes and some cuts do there.
    let step = count / 300 + 1
    for size in stride(from: 1, through: count, by: step) {
      #expect(try read(test, cutAt: stride(from: size, to: count, by: size)) == whole, "by \(size)")
    }
    for cut in stride(from: 0, through: count, by: step) {
      #expect(try read(test, cutAt: [cut]) == whole, "cut at \(cut)")
    }
    var generator = Generator(state: UInt64(count))
    for round in 0..<20 {
      let cuts = (0..<Int.random(in: 1...8, using: &generator)).map { _ in
        Int.random(in: 0...count, using: &generator)
      }
      #expect(try read(test, cutAt: cuts.sorted()) == whole, "round \(round): \(cuts)")
    }
  }

  @Test("a message of 10 MB, whole and in two pieces, where the limit lets it")
  func large() throws {
    var limit = EventStreamParser.Limit()
    (limit.lineBytes, limit.eventBytes) = (16 << 20, 16 << 20)
    let data = String(repeating: "0123456789abcdef", count: 640 << 10)
    for cut in [0, 5_000_000] {
      var parser = EventStreamParser(limit: limit)
      let bytes = Array("data: \(data)\n\n".utf8)
      let items = try parser.consume(bytes[..<cut]) + parser.consume(bytes[cut...])
      #expect(items == [.event(ServerEvent(data: data))])
    }
  }
}

private struct Generator: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ (state >> 31)
  }
}
