#if Server && (os(Linux) || os(macOS))
import Foundation
import Tern
import TestProcesses
import Testing

/// Processes that are killed while they append to a folder.
@Suite("Directory: writers that are killed while they append", .serialized, .timeLimit(.minutes(2)))
struct FolderCrashTests {
  static let writer = ReplicaID(bytes: [UInt8](repeating: 7, count: 16))!

  @Test(arguments: [1, 2, 5])
  func `a writer killed in the middle of a frame loses nothing acknowledged`(_ push: Int)
    async throws
  {
    try await Share.run { share in
      let acknowledged = try await run(share, ["\(push)"])
      #expect(acknowledged.last ?? 0 == UInt64(push - 1))
      let name = "\(Self.writer)-1.tern"
      let torn = try share.read(name).count
      let before = try await share.fresh().operations
      #expect(before.map(\.envelope.sequence) == acknowledged)
      #expect(try await share.remote(Author.id(99)).ignoredFiles().map(\.name) == [name])

      // It goes on where it was, and its first write takes the place of the rest.
      let later = try await run(share, ["2"])
      #expect(later == [UInt64(push)])
      #expect(try share.names() == [name])
      let after = try await share.fresh().operations
      #expect(after.count == push && Array(after.prefix(before.count)) == before)
      #expect(try share.read(name).count > torn)
    }
  }

  @Test func `a writer killed at any moment loses nothing acknowledged`() async throws {
    try await Share.run { share in
      var next: UInt64 = 0
      for round in 1...6 {
        let acknowledged = try await run(share, [], killedAfter: round * 2)
        #expect(acknowledged.first == next + 1)
        let remote = share.remote(Author.id(99))
        let (given, _) = try await remote.everything()
        next = UInt64(given.count)
        #expect(given.map(\.envelope.sequence) == Array(1...next))
        #expect(next >= acknowledged.last ?? 0)
      }
    }
  }

  /// - Returns: what the writer said was acknowledged, until it was dead.
  private func run(_ share: Share, _ arguments: [String], killedAfter count: Int = .max)
    async throws -> [UInt64]
  {
    let process = try ChildProcess(
      BuiltExecutable.path("FolderWriter"),
      arguments: [share.url.path(percentEncoded: false)] + arguments)
    return await Task.detached {
      var text = ""
      var isKilled = false
      while let bytes = process.read() {
        text += String(decoding: bytes, as: UTF8.self)
        if !isKilled, text.split(separator: "\n").count >= count {
          isKilled = true
          process.kill()
        }
      }
      process.endInput()
      #expect(process.wait() == SIGKILL)
      return text.split(separator: "\n").compactMap { UInt64($0) }
    }.value
  }
}
#endif
