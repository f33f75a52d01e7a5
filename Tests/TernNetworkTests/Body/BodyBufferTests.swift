import Testing

@testable import TernNetwork

@Suite("Body: what has arrived of a body and was not read yet")
struct BodyBufferTests {
  private func write(_ bytes: [UInt8], to buffer: inout BodyBuffer<String>) -> String {
    let (acceptance, reader) = bytes.withUnsafeBytes { buffer.write($0) }
    return [reader, "\(acceptance)"].compactMap { $0 }.joined(separator: " ")
  }

  private func read(_ buffer: inout BodyBuffer<String>, as reader: String? = nil) -> String {
    switch buffer.read(as: reader) {
    case .chunk(let bytes, let resumes): "\(bytes)\(resumes ? " resume" : "")"
    case .end: "end"
    case .failure(let error): "\(error)"
    case .wait: "wait"
    case .inUse: "in use"
    }
  }

  struct Broken: Error {}

  @Test("a full buffer refuses the next chunk, and the read that empties it says to go on")
  func full() {
    var buffer = BodyBuffer<String>(limitBytes: 2)
    #expect(write([1], to: &buffer) == "taken")
    #expect(write([2, 3], to: &buffer) == "taken")
    #expect(write([4], to: &buffer) == "full")
    #expect(read(&buffer) == "[1, 2, 3] resume")
    #expect(write([4], to: &buffer) == "taken")
    #expect(read(&buffer) == "[4]")
  }

  @Test("a reader that waits gets the bytes, and a second one is refused")
  func waiting() {
    var buffer = BodyBuffer<String>(limitBytes: 2)
    #expect(read(&buffer, as: "anna") == "wait")
    #expect(read(&buffer, as: "ben") == "in use")
    #expect(write([1], to: &buffer) == "anna taken")
    #expect(write([2], to: &buffer) == "taken")
  }

  @Test("the end comes after the bytes, and a failure after them too")
  func end() {
    var buffer = BodyBuffer<String>(limitBytes: 2)
    #expect(write([1], to: &buffer) == "taken")
    #expect(buffer.end(Broken()) == nil)
    #expect(buffer.end(nil) == nil)
    #expect(write([2], to: &buffer) == "unwanted")
    #expect(read(&buffer) == "[1]")
    #expect(read(&buffer) == "Broken()")
    #expect(read(&buffer) == "Broken()")
  }

  @Test("abandoning drops the bytes and tells the reader once")
  func abandon() {
    var buffer = BodyBuffer<String>(limitBytes: 2)
    #expect(read(&buffer, as: "anna") == "wait")
    #expect(buffer.abandon(Broken()) == "anna")
    #expect(buffer.abandon(Broken()) == nil)
    #expect(buffer.end(nil) == nil)
    #expect(write([2], to: &buffer) == "unwanted")
    #expect(read(&buffer) == "Broken()")
  }
}
