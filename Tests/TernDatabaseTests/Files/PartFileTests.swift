import Foundation
import TernDatabase
import Testing

@Suite("Files: a file of parts")
struct PartFileTests {
  private let path = NSTemporaryDirectory() + "/tern-parts-\(UUID().uuidString)"

  @Test func `parts are read as they were put, and a later object goes on`() throws {
    defer { unlink(path) }
    let parts: [[UInt8]] = [[1, 2, 3], [], Array(repeating: 7, count: 100_000)]
    do {
      let file = try PartFile(path, key: "k")
      for part in parts { try file.append(part) }
    }
    let file = try PartFile(path, key: "k")
    #expect(file.count == 3)
    #expect(try (0...3).map { try file.part($0) } == parts.map { $0 } + [nil])
    try file.append([9])
    #expect(try file.part(3) == [9])
    file.remove()
    #expect(access(path, F_OK) != 0)
  }

  @Test func `what was cut short in the middle of a part is left out`() throws {
    defer { unlink(path) }
    do {
      let file = try PartFile(path, key: "k")
      try file.append([1, 2, 3])
      try file.append([4, 5, 6])
    }
    let whole = try Data(contentsOf: URL(filePath: path))
    for missing in 1...7 {
      try whole.dropLast(missing).write(to: URL(filePath: path))
      let file = try PartFile(path, key: "k")
      #expect(file.count == 1)
      try file.append([8])
      #expect(try PartFile(path, key: "k").part(1) == [8])
    }
  }

  @Test func `parts of something else are forgotten`() throws {
    defer { unlink(path) }
    try PartFile(path, key: "a").append([1])
    #expect(try PartFile(path, key: "ab").count == 0)
    #expect(try PartFile(path, key: "ab").part(0) == nil)
  }

  @Test func `a file without a name leaves nothing behind`() throws {
    let file = try PartFile()
    try file.append([1, 2])
    #expect(try file.part(0) == [1, 2])
  }
}
