#if Server
import Foundation
import Synchronization
import Tern
import Testing

/// What a folder does not take, and what it does not promise too early.
@Suite("Directory: what a folder does not take", .timeLimit(.minutes(1)))
struct FolderLimitTests {
  @Test func `replicas that are made up end at a limit, by name, and stop nobody`() async throws {
    try await Share.run { share in
      var (a, b, c) = (Author(1), Author(2), Author(3))
      let (first, second) = (a.next(), b.next())
      _ = try await share.remote(a.id, replicaLimit: 2).push([first])
      let crowd = share.remote(b.id, replicaLimit: 2)
      _ = try await crowd.push([second])
      let error = await #expect(throws: RemoteError.self) { try await crowd.push([c.next()]) }
      #expect(error?.code == .tooLarge && error?.replica == c.id)
      #expect(error?.message.contains("2") == true)
      let later = a.next()
      _ = try await share.remote(a.id, replicaLimit: 2).push([later])

      // Written by somebody who keeps to no limit.
      let many = (UInt64(4)...20).map { number in
        var author = Author(number)
        return author.next()
      }
      _ = try await share.remote(Author.id(200)).push(many)
      let reader = share.remote(Author.id(99), replicaLimit: 2)
      let name = "\(Author.id(200))-1.tern"
      for _ in 0..<2 {
        let page = try await reader.pull(after: nil, excluding: Author.id(99))
        #expect(page.operations == [first, later, second])
        #expect(page.withheld?.code == .tooLarge && page.withheld?.message.contains(name) == true)
      }
      #expect(try await reader.ignoredFiles().map(\.name) == [name])
      try share.remove(name)
      #expect(try await reader.pull(after: nil, excluding: Author.id(99)).withheld == nil)
    }
  }

  @Test func `files that hold nothing stop nobody, however many they are`() async throws {
    try await Share.run { share in
      var a = Author(1)
      let operations = a.next(1)
      _ = try await share.remote(a.id).push(operations)
      for number in 0..<10_001 { try share.write(Data(), to: "\(number).tern") }
      #expect(try await share.fresh().operations == operations)
      // Nor do those with something else in them, by name.
      for number in 0..<3 { try share.write(Data("notes".utf8), to: "0-\(number).tern") }
      let reader = share.remote(Author.id(99), fileLimit: 1)
      #expect(try await reader.pull(after: nil, excluding: Author.id(99)).operations == operations)
      let second = a.next(1)
      _ = try await share.remote(a.id, fileLimit: 1).push(second)
      #expect(
        try await reader.pull(after: nil, excluding: Author.id(99)).operations == operations
          + second)
    }
  }

  @Test func `files over the limit are left out by name, and those that were read go on`()
    async throws
  {
    try await Share.run { share in
      var (a, b, c) = (Author(1), Author(2), Author(3))
      let (first, second) = (a.next(1), b.next(1))
      _ = try await share.remote(a.id).push(first)
      _ = try await share.remote(b.id).push(second)
      let reader = share.remote(Author.id(99), fileLimit: 2)
      #expect(try await reader.everything().operations == first + second)
      _ = try await share.remote(c.id).push(c.next(1))
      let name = "\(c.id)-1.tern"
      let page = try await reader.pull(after: nil, excluding: Author.id(99))
      #expect(page.operations == first + second)
      #expect(page.withheld?.code == .tooLarge && page.withheld?.message.contains(name) == true)
      #expect(try await reader.ignoredFiles().map(\.name) == [name])
      let later = a.next(1)
      _ = try await share.remote(a.id).push(later)
      #expect(try await reader.everything().operations == first + later + second)
      try share.remove("\(b.id)-1.tern")
      #expect(try await reader.everything().operations.count == 3)
      #expect(try await reader.ignoredFiles().isEmpty)
    }
  }

  @Test func `a space's folder that leads elsewhere is refused by name`() async throws {
    try await Share.run { share in
      try await Share.run { elsewhere in
        var a = Author(1)
        let operations = a.next(2)
        _ = try await elsewhere.remote(a.id).push(operations)
        try FileManager.default.createSymbolicLink(
          at: share.url.appending(component: "home"), withDestinationURL: elsewhere.space)
        let remote = share.remote(a.id)
        for call in [{ _ = try await remote.greet() }, { _ = try await remote.push(operations) }] {
          let error = await #expect(throws: RemoteError.self) { try await call() }
          #expect(error?.code == .malformed && error?.message.contains("link") == true)
        }
        #expect(try elsewhere.names() == ["\(a.id)-1.tern"])
      }
    }
  }

  @Test func `what another process left in a file is on the disk before it is acknowledged`()
    async throws
  {
    try await Share.run { share in
      var (a, b) = (Author(1), Author(2))
      let operations = a.next(2)
      // It died between its last write and its sync.
      _ = try await share.remote(a.id).push(operations)
      let synced = SyncedNodes()
      let remote = share.remote(a.id, files: synced.files)
      func nodes(_ urls: URL...) throws -> [UInt64] { try urls.map(SyncedNodes.node) }
      let file = share.space.appending(path: "\(a.id)-1.tern")
      #expect(try await remote.push(operations).accepted == 0)
      #expect(try synced.nodes == nodes(file, share.space, share.url))
      // Once is enough, also for what it writes itself.
      _ = try await remote.push([a.next()])
      #expect(try synced.nodes == nodes(file, share.space, share.url, file))
      _ = try await remote.push(operations)
      #expect(synced.nodes.count == 4)
      // What another device's file brings is no different.
      let others = b.next(1)
      _ = try await share.remote(b.id).push(others)
      _ = try await remote.push(others)
      #expect(
        try synced.nodes.suffix(2)
          == nodes(share.space.appending(path: "\(b.id)-1.tern"), share.space)[...])
    }
  }

  @Test(
    "what could not be made durable at the first push is at the next one, before that is acknowledged",
    arguments: 1...4)
  func secondPush(failing: Int) async throws {
    try await Share.run { share in
      var a = Author(1)
      let synced = SyncedNodes(failing: failing)
      let remote = share.remote(a.id, files: synced.files)
      let operations = a.next(2)
      var failed: UInt64?
      do {
        _ = try await remote.push(operations)
      } catch {
        failed = synced.nodes.last
      }
      _ = try await remote.push(operations)
      let nodes = try [
        share.url, share.space, share.space.appending(path: "\(a.id)-1.tern"),
      ].map(SyncedNodes.node)
      // Three are synced, each at last without an error.
      #expect((failed == nil) == (failing == 4))
      let good = synced.nodes.enumerated().filter { $0.offset + 1 != failing }.map(\.element)
      #expect(Set(good) == Set(nodes))
    }
  }
}

/// What was synced, in order, by its number in the file system.
private final class SyncedNodes: Sendable {
  private let noted = Mutex<[UInt64]>([])
  private let failing: Int?

  /// - Parameter failing: which sync fails, from 1.
  init(failing: Int? = nil) {
    self.failing = failing
  }

  var nodes: [UInt64] { noted.withLock { $0 } }

  var files: DurableFile {
    DurableFile(
      isSynced: true,
      sync: { descriptor in
        var status = stat()
        _ = fstat(descriptor, &status)
        return self.noted.withLock { noted in
          noted.append(UInt64(status.st_ino))
          errno = EIO
          return noted.count == self.failing ? -1 : 0
        }
      })
  }

  static func node(of url: URL) throws -> UInt64 {
    try #require(
      FileManager.default.attributesOfItem(atPath: url.path)[.systemFileNumber] as? UInt64)
  }
}
#endif
