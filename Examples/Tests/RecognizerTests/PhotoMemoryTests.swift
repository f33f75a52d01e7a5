import Synchronization
import Testing

@testable import RecognizerKit

struct PhotoMemoryTests {
  /// Counts how often each photo was read.
  private final class Reads: Sendable {
    let counts = Mutex<[[UInt8]: Int]>([:])

    subscript(_ photo: [UInt8]) -> Int { counts.withLock { $0[photo] ?? 0 } }
  }

  private func titles(_ memory: PhotoMemory, _ photo: [UInt8]) throws -> [String] {
    var titles: [String] = []
    try memory.read(photo) { titles.append($0.book.title) }
    return titles
  }

  private func memory(_ reads: Reads, limit: Int) -> PhotoMemory {
    PhotoMemory(limit: limit) { photo, found in
      reads.counts.withLock { $0[photo, default: 0] += 1 }
      guard photo != [0] else { throw UnreadablePhoto() }
      found(Finding(book: LiveService.book("A\(photo[0])", nil), confidence: 0.9))
      found(Finding(book: LiveService.book("B\(photo[0])", nil), confidence: 0.8))
    }
  }

  @Test func `the same bytes are read once and give the same books`() throws {
    let reads = Reads()
    let memory = memory(reads, limit: 2)
    for _ in 0..<3 { #expect(try titles(memory, [7]) == ["A7", "B7"]) }
    #expect(try titles(memory, [8]) == ["A8", "B8"])
    #expect(reads[[7]] == 1)
  }

  @Test func `the photo that was read first is forgotten first`() throws {
    let reads = Reads()
    let memory = memory(reads, limit: 2)
    for photo: [UInt8] in [[1], [2], [3], [2], [3], [1]] { _ = try titles(memory, photo) }
    #expect([reads[[1]], reads[[2]], reads[[3]]] == [2, 1, 1])
  }

  @Test func `a photo that can't be read is tried again`() throws {
    let reads = Reads()
    let memory = memory(reads, limit: 2)
    for _ in 0..<2 { #expect(throws: UnreadablePhoto.self) { try titles(memory, [0]) } }
    #expect(reads[[0]] == 2)
  }
}
