import Foundation
import TernDatabase
import Testing

@Suite("Files: only their owner may read them")
struct OwnerOnlyTests {
  private func withFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body(folder)
  }

  private func rights(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }

  @Test func `what is made is its owner's alone`() throws {
    try withFolder { folder in
      let durable = DurableFile(isSynced: false)
      try durable.makeFolder("\(folder)/a/b")
      try FolderListing.create("\(folder)/a/c", durable, isNamed: true)
      #expect(
        try ["a", "a/b", "a/c"].map { try rights("\(folder)/\($0)") } == [0o700, 0o700, 0o700])
      let file = try #require(try AppendedFile.attempt("\(folder)/file", durable))
      try file.append([1], after: 0, isNamed: true)
      try [1, 2].withUnsafeBytes { try durable.create("\(folder)/created", $0) }
      OwnerOnly.makeFile("\(folder)/made")
      #expect(
        try ["file", "created", "made"].map { try rights("\(folder)/\($0)") }
          == [0o600, 0o600, 0o600])
    }
  }

  @Test func `a file that is there keeps its rights, and is named where others may open it`() throws
  {
    try withFolder { folder in
      let path = "\(folder)/file"
      #expect(OwnerOnly.complaint(of: path) == nil)
      OwnerOnly.makeFile(path)
      #expect(OwnerOnly.complaint(of: path) == nil)
      for open in [0o640, 0o644, 0o602] {
        try FileManager.default.setAttributes([.posixPermissions: open], ofItemAtPath: path)
        OwnerOnly.makeFile(path)
        #expect(try rights(path) == open)
        #expect(
          try #require(OwnerOnly.complaint(of: path)).contains(
            "rights are \(String(open, radix: 8))"))
      }
    }
  }
}
