#if Server
import Foundation
import Synchronization
import Tern
import Testing

/// What is done with the files of a folder in every state that they can be found in.
@Suite("Directory: files in every state that they can be found in", .timeLimit(.minutes(1)))
struct FolderFileTests {
  @Test func `a frame that is cut at any byte is left out, and read when it is whole`() async throws
  {
    try await Share.run { share in
      var a = Author(1)
      let remote = share.remote(a.id)
      let first = a.next(2)
      _ = try await remote.push(first)
      let name = try #require(share.names().first)
      let before = try share.read(name)
      let second = a.next("more")
      _ = try await remote.push([second])
      let whole = try share.read(name)
      #expect(whole.prefix(before.count) == before)
      for count in before.count..<whole.count {
        try share.write(whole.prefix(count), to: name)
        let reader = share.remote(Author.id(99))
        let (given, cursor) = try await reader.everything()
        #expect(given == first, "of \(count) bytes")
        let ignored = try await reader.ignoredFiles()
        #expect(ignored.map(\.offset) == (count == before.count ? [] : [before.count]))
        try share.write(whole, to: name)
        #expect(try await reader.everything(after: cursor).operations == [second])
        #expect(try await reader.ignoredFiles().isEmpty)
      }
    }
  }

  @Test(arguments: [Data([1]), Data(count: 100), Data([9, 0, 0, 0, 1, 2]), Data([200, 1, 0, 0])])
  func `a writer cuts off what it left when it died`(_ tail: Data) async throws {
    try await Share.run { share in
      var a = Author(1)
      let first = a.next(2)
      _ = try await share.remote(a.id).push(first)
      let name = try #require(share.names().first)
      try share.write(share.read(name) + tail, to: name)
      let second = a.next()
      _ = try await share.remote(a.id).push([second])
      #expect(try share.names() == [name])
      let (given, _) = try await share.fresh()
      #expect(given == first + [second])
      #expect(try await share.remote(a.id).ignoredFiles().isEmpty)
    }
  }

  @Test func `a head that is cut at any byte is written again`() async throws {
    try await Share.run { share in
      var a = Author(1)
      let first = a.next()
      _ = try await share.remote(a.id).push([first])
      let name = try #require(share.names().first)
      let whole = try share.read(name)
      for count in 0..<30 {
        try share.write(whole.prefix(count), to: name)
        #expect(try await share.fresh().operations == [])
        _ = try await share.remote(a.id).push([first])
        #expect(try share.read(name) == whole)
      }
    }
  }

  @Test func `damage in the middle is named, and what it hides is pushed again beside it`()
    async throws
  {
    try await Share.run { share in
      var a = Author(1)
      let operations = a.next(4)
      let remote = share.remote(a.id)
      var sizes: [Int] = []
      for operation in operations {
        _ = try await remote.push([operation])
        sizes.append(try share.read(share.names()[0]).count)
      }
      let name = try #require(share.names().first)
      var bytes = try share.read(name)
      bytes[sizes[0] + 20] ^= 0xFF
      try share.write(bytes, to: name)
      let reader = share.remote(Author.id(99))
      #expect(try await reader.everything().operations == [operations[0]])
      let ignored = try #require(try await reader.ignoredFiles().first)
      #expect(ignored.name == name && ignored.offset == sizes[0])
      // As an engine does that asks for the heads.
      let heads = try await share.remote(a.id).greet().heads
      #expect(heads[a.id] == 1)
      _ = try await share.remote(a.id).push(Array(operations.dropFirst()))
      #expect(try share.read(name) == bytes)
      #expect(try share.names().count == 2)
      #expect(try await share.fresh().operations == operations)
    }
  }

  @Test func `a damaged file that seems as it was is read again now and then, or when asked`()
    async throws
  {
    try await Share.run { share in
      var a = Author(1)
      let operations = a.next(2)
      _ = try await share.remote(a.id).push(operations)
      // A disk that gives other bytes than it has.
      let isBad = Mutex(true)
      let reads = Mutex(0)
      var files = DurableFile(isSynced: false)
      files.read = { descriptor, buffer, offset in
        let count = DurableFile.fromDisk(descriptor, buffer, offset)
        reads.withLock { $0 += 1 }
        if isBad.withLock({ $0 }) { buffer[0] ^= 0xFF }
        return count
      }
      func reader() async throws -> DirectoryRemote {
        isBad.withLock { $0 = true }
        let reader = share.remote(Author.id(99), files: files)
        #expect(try await reader.greet().heads[a.id] == 0)
        reads.withLock { $0 = 0 }
        for _ in 1...5 {
          let page = try await reader.pull(after: nil, excluding: Author.id(99))
          #expect(page.operations.isEmpty)
        }
        #expect(reads.withLock { $0 } == 0)
        isBad.withLock { $0 = false }
        return reader
      }
      #expect(try await reader().greet().heads[a.id] == 2)
      #expect(try await reader().ignoredFiles().isEmpty)
      // By who looks again and again.
      #expect(try await reader().positions(after: nil).contains { $0 > 0 })
    }
  }

  @Test func `what is none of the space's is left alone, by name`() async throws {
    try await Share.run { share in
      var (a, b) = (Author(1), Author(2))
      let operations = a.next(3)
      _ = try await share.remote(a.id).push(operations)
      _ = try await share.remote(b.id, space: "work").push(b.next(2))
      let other = try FileManager.default.contentsOfDirectory(
        atPath: share.url.appending(path: "work").path)
      // Somebody copies a file into the wrong space.
      try FileManager.default.copyItem(
        at: share.url.appending(path: "work/\(other[0])"), to: share.space.appending(path: other[0])
      )
      var newer = try share.read("\(a.id)-1.tern")
      newer[4] = 2
      try share.write(newer, to: "newer.tern")
      try share.write(Data("a note about terns, and no file of theirs".utf8), to: "note.tern")
      try share.write(Data("nothing".utf8), to: "readme.txt")
      try share.write(newer, to: ".syncthing.a.tern")
      try FileManager.default.createDirectory(
        at: share.space.appending(path: "folder.tern"), withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(
        atPath: share.space.appending(path: "link.tern").path, withDestinationPath: "note.tern")
      let reader = share.remote(Author.id(99))
      #expect(try await reader.everything().operations == operations)
      let ignored = try await reader.ignoredFiles()
      #expect(
        ignored.map(\.name)
          == [other[0], "folder.tern", "link.tern", "newer.tern", "note.tern"].sorted())
      #expect(ignored.first { $0.name == other[0] }?.reason.contains("another space") == true)
      #expect(ignored.first { $0.name == "newer.tern" }?.reason.contains("update") == true)
    }
  }

  @Test func `a file that is long enough is left as it is, and the next begun`() async throws {
    try await Share.run { share in
      var a = Author(1)
      let operations = a.next(10)
      for operation in operations {
        _ = try await share.remote(a.id, fileBytes: 150).push([operation])
      }
      let names = try share.names()
      #expect(names.count > 2 && names.first == "\(a.id)-1.tern")
      #expect(try await share.fresh().operations == operations)
    }
  }

  @Test func `two that write for one replica do so one after the other`() async throws {
    try await Share.run { share in
      var a = Author(1)
      let (first, second) = (share.remote(a.id), share.remote(a.id))
      let operations = a.next(6)
      for (index, operation) in operations.enumerated() {
        _ = try await (index % 2 == 0 ? first : second).push([operation])
      }
      #expect(try share.names().count == 1)
      #expect(try await share.fresh().operations == operations)
    }
  }

  @Test func `a space's name is a folder's, whatever it holds`() async throws {
    try await Share.run { share in
      var a = Author(1)
      let operations = a.next(2)
      _ = try await share.remote(a.id, space: "../ü/..").push(operations)
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: share.url.path) == ["..%2F%C3%BC%2F.."])
      for space in ["", String(repeating: "x", count: 129)] {
        let error = await #expect(throws: RemoteError.self) {
          try await share.remote(a.id, space: space).greet()
        }
        #expect(error?.code == .malformed)
      }
    }
  }
}
#endif
