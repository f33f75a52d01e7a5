import Tern
import TernNetwork

/// An event stream as a transport delivers it, read by the parser and by a loop that finds line ends alone.
struct EventBench {
  enum Stream: String, CaseIterable {
    /// As Tern's server sends them: three short lines.
    case positions
    /// The same, for a reader that also stores each event's id.
    case storedPositions = "stored-positions"
    /// As a language model answers: one line of data of some 200 bytes each.
    case tokens
    /// Data in lines of 60 bytes, 40 to an event, and signs of life.
    case texts

    func event(_ number: Int) -> String {
      switch self {
      case .positions, .storedPositions:
        "event: position\nid: \(number)\ndata: {\"position\":\(number)}\n\n"
      case .tokens:
        "data: {\"id\":\"answer-\(number)\",\"object\":\"chunk\",\"created\":1700000000,"
          + "\"model\":\"a-model-of-some-name\",\"choices\":[{\"index\":0,\"delta\":{\"content\":"
          + "\" word\(number)\"},\"finish_reason\":null}]}\n\n"
      case .texts:
        ":\n"
          + String(
            repeating: "data: The quick brown fox jumps over the lazy dog, again and\n", count: 40)
          + "\n"
      }
    }
  }

  private let chunks: [[UInt8]]
  private let readsIDs: Bool
  let byteCount: Int

  /// As many events as make so many bytes, in pieces of 16 KiB.
  init(_ stream: Stream, byteCount: Int) {
    var bytes: [UInt8] = []
    var number = 0
    while bytes.count < byteCount {
      number += 1
      bytes += stream.event(number).utf8
    }
    self.init(bytes, readsIDs: stream == .storedPositions)
  }

  /// So many events, and in each so many lines more, of ten kinds in turn and no two the same.
  init(events: Int, lines: Int) {
    var bytes: [UInt8] = []
    for event in 0..<events {
      for line in 0..<lines { bytes += Self.line(line % 10, event * lines + line).utf8 }
      bytes += "data: x\n\n".utf8
    }
    self.init(bytes)
  }

  private static func line(_ kind: Int, _ number: Int) -> String {
    switch kind {
    case 0: "event: n\(number)\n"
    case 1: "event: a-name-of-more-than-15-bytes-\(number)\n"
    case 2: "id: \(number)\n"
    case 3: "id: 1700000000000-progress-\(number)\n"
    case 4: "retry: \(number)\n"
    case 5: ": still here after \(number)\n"
    case 6: "data: {\"title\":\"Émile \(number)\"}\n"
    case 7: "other: \(number)\n"
    // As other servers write it, without the space.
    case 8: "data:\(number)\n"
    default: "event:position-\(number)\n"
    }
  }

  private init(_ bytes: [UInt8], readsIDs: Bool = false) {
    self.readsIDs = readsIDs
    byteCount = bytes.count
    chunks = stride(from: 0, to: bytes.count, by: 16 << 10).map {
      Array(bytes[$0..<min($0 + 16 << 10, bytes.count)])
    }
  }

  /// As readers do it: by name, `HTTPRemote` for one leaves other events, then the data.
  func parse() throws {
    var parser = EventStreamParser()
    var count = 0
    for chunk in chunks {
      parser.append(chunk)
      while let item = try parser.next() {
        guard case .event(let event) = item else { continue }
        let isKnown = event.name == "position" || event.name == "message"
        count += isKnown ? event.data.utf8.count : 1
        if readsIDs { count += event.id.utf8.count }
      }
    }
    precondition(count > 0, "no event was read")
  }

  /// Where each line ends, byte by byte.
  func findLineEnds() {
    var ends = [Int](repeating: 0, count: 16 << 10)
    var count = 0
    for chunk in chunks {
      chunk.withUnsafeBufferPointer { bytes in
        ends.withUnsafeMutableBufferPointer { ends in
          count = 0
          for index in 0..<bytes.count
          where bytes[index] == UInt8(ascii: "\n") || bytes[index] == UInt8(ascii: "\r") {
            ends[count] = index
            count &+= 1
          }
        }
      }
    }
    precondition(count > 0 && ends[0] > 0, "no line was found")
  }
}
