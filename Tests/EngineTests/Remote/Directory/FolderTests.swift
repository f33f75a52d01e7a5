#if Server
import Foundation
import Synchronization
import Tern
import Testing

/// A folder as whatever carries it leaves it: with files missing, doubled, replaced, or gone.
@Suite("Directory: a folder as whatever carries it leaves it", .timeLimit(.minutes(1)))
struct FolderTests {
  @Test func `operations wait for the file with those before them`() async throws {
    try await Share.run { share in
      var (a, b) = (Author(1), Author(2))
      let (first, later, own) = (a.next(3), a.next(2), b.next(2))
      _ = try await share.remote(a.id).push(first)
      _ = try await share.remote(b.id).push(own + later)
      let name = "\(a.id)-1.tern"
      let bytes = try share.read(name)
      try share.remove(name)
      let reader = share.remote(Author.id(99))
      let (given, cursor) = try await reader.everything()
      #expect(given == own)
      #expect(try await reader.greet().heads[a.id] == 0)
      try share.write(bytes, to: name)
      #expect(try await reader.everything(after: cursor).operations == first + later)
    }
  }

  @Test func `a group is given out when all of it is here`() async throws {
    try await Share.run { share in
      var a = Author(1)
      let (first, group) = (a.next(), [a.next(continues: true), a.next(continues: true), a.next()])
      let same = group.map { operation in
        var envelope = operation.envelope
        envelope.time = group[0].envelope.time
        return SyncOperation(envelope, body: Array("body".utf8))
      }
      let remote = share.remote(a.id)
      _ = try await remote.push([first] + same.prefix(2))
      let (given, cursor) = try await share.fresh()
      #expect(given == [first])
      _ = try await remote.push([same[2]])
      #expect(try await remote.everything(after: cursor).operations == same)
    }
  }

  @Test func `a number that somebody made up for a file stops no push`() async throws {
    try await Share.run { share in
      var a = Author(1)
      let operations = a.next(2)
      try share.write(Data("garbage".utf8), to: "\(a.id)-\(Int.max).tern")
      try share.write(Data("garbage".utf8), to: "\(a.id)-1000001.tern")
      _ = try await share.remote(a.id).push(operations)
      #expect(try await share.fresh().operations == operations)
    }
  }

  @Test func `a copy under another name is the same again`() async throws {
    try await Share.run { share in
      var a = Author(1)
      let operations = a.next(3)
      _ = try await share.remote(a.id).push(operations)
      let bytes = try share.read("\(a.id)-1.tern")
      let reader = share.remote(Author.id(99))
      let (_, cursor) = try await reader.everything()
      try share.write(bytes, to: "\(a.id)-1.sync-conflict-20261121-101500-ABCDEFG.tern")
      #expect(try await reader.everything(after: cursor).operations == [])
      #expect(try await share.fresh().operations == operations)
      // What the copy alone has counts too.
      try share.remove("\(a.id)-1.tern")
      #expect(try await reader.everything().operations == operations)
    }
  }

  @Test func `an older copy in a file's place is noticed, and what it lacks is pushed again`()
    async throws
  {
    try await Share.run { share in
      var a = Author(1)
      let remote = share.remote(a.id)
      let operations = a.next(4)
      _ = try await remote.push(Array(operations.prefix(2)))
      let name = "\(a.id)-1.tern"
      let old = try share.read(name)
      _ = try await remote.push(Array(operations.suffix(2)))
      var positions = remote.positions(after: nil).makeAsyncIterator()
      _ = try await positions.next()
      try share.remove(name)
      try share.write(old, to: name)
      let error = await #expect(throws: RemoteError.self) { try await positions.next() }
      #expect(error?.isTransient == true)
      #expect(try await remote.greet().heads[a.id] == 2)
      _ = try await remote.push(operations)
      #expect(try await share.fresh().operations == operations)
    }
  }

  @Test func `another file in a file's place, and no shorter, is noticed`() async throws {
    try await Share.run { share in
      var (a, b) = (Author(1), Author(2))
      _ = try await share.remote(a.id).push(a.next(2))
      let reader = share.remote(Author.id(99))
      let (_, cursor) = try await reader.everything()
      let others = b.next(5)
      _ = try await share.remote(b.id).push(others)
      let bytes = try share.read("\(b.id)-1.tern")
      try share.remove("\(b.id)-1.tern")
      #expect(try share.read("\(a.id)-1.tern").count <= bytes.count)
      try share.write(bytes, to: "\(a.id)-1.tern")
      #expect(try await reader.everything(after: cursor).operations == others)
      #expect(try await reader.greet().heads[a.id] == 0)
    }
  }

  @Test func `what rots where it was read before is found out, and pushed again`() async throws {
    try await Share.run { share in
      var a = Author(1)
      let remote = share.remote(a.id)
      let operations = a.next(40)
      for operation in operations { _ = try await remote.push([operation]) }
      let reader = share.remote(Author.id(99))
      #expect(try await reader.greet().heads[a.id] == 40)
      // A disk gives other bytes, and says nothing.
      let name = "\(a.id)-1.tern"
      let path = share.space.appending(path: name).path
      let date = try #require(
        FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date)
      var bytes = try share.read(name)
      bytes[200] ^= 1
      try share.write(bytes, to: name)
      try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
      let error = await #expect(throws: RemoteError.self) { try await reader.everything() }
      #expect(error?.isTransient == true && error?.message.contains(name) == true)
      let head = try await reader.greet().heads[a.id]
      #expect(head < 40)
      #expect(try await reader.everything().operations == Array(operations.prefix(Int(head))))
      _ = try await share.remote(a.id).push(operations)
      #expect(try await reader.everything().operations == operations)
    }
  }

  @Test func `one number with two contents stops that replica alone, and names the files`()
    async throws
  {
    try await Share.run { share in
      var (a, copy, b) = (Author(1), Author(1), Author(2))
      let first = a.next()
      _ = copy.next()
      _ = try await share.remote(a.id).push([first, a.next()])
      let name = "\(a.id)-1.tern"
      let bytes = try share.read(name)
      try share.remove(name)
      // The copy of the database writes on another device, whose files have the same names.
      _ = try await share.remote(a.id).push([first, copy.next("other"), copy.next()])
      try FileManager.default.moveItem(
        at: share.space.appending(path: name), to: share.space.appending(path: "conflict.tern"))
      try share.write(bytes, to: name)
      let others = b.next(3)
      _ = try await share.remote(b.id).push(others)

      let reader = share.remote(Author.id(99))
      let page = try await reader.pull(after: nil, excluding: Author.id(99))
      #expect(page.operations == [first] + others && !page.hasMore)
      let error = page.withheld
      #expect(error?.code == .sequenceConflict && error?.replica == a.id && error?.sequence == 2)
      #expect(error?.message.contains(name) == true)
      #expect(error?.message.contains("conflict.tern") == true)
      try share.remove("conflict.tern")
      #expect(try await reader.everything(after: page.cursor).operations.count == 1)
    }
  }

  @Test func `a folder that is gone is unreachable, and goes on when it is back`() async throws {
    try await Share.run { share in
      var a = Author(1)
      let remote = share.remote(a.id)
      let operations = a.next(2)
      _ = try await remote.push([operations[0]])
      let away = share.url.deletingLastPathComponent().appending(
        path: share.url.lastPathComponent + "-away")
      try FileManager.default.moveItem(at: share.url, to: away)
      defer { try? FileManager.default.removeItem(at: away) }
      for call in [{ _ = try await remote.greet() }, { _ = try await remote.push(operations) }] {
        let error = await #expect(throws: RemoteError.self) { try await call() }
        #expect(error?.code == .unreachable && error?.message.contains("folder") == true)
      }
      #expect(!FileManager.default.fileExists(atPath: share.url.path))
      try FileManager.default.moveItem(at: away, to: share.url)
      _ = try await remote.push(operations)
      #expect(try await share.fresh().operations == operations)
    }
  }

  @Test func `a full folder is said to be full, keeps what it has, and takes more later`()
    async throws
  {
    try await Share.run { share in
      var a = Author(1)
      let isFull = Mutex(false)
      let remote = share.remote(
        a.id,
        files: DurableFile(isSynced: true) { descriptor, bytes in
          let count = isFull.withLock { $0 } ? min(bytes.count, 40) : bytes.count
          if isFull.withLock({ $0 }), bytes.count < 60 {
            errno = ENOSPC
            return -1
          }
          return write(descriptor, bytes.baseAddress, count)
        })
      let operations = a.next(3)
      _ = try await remote.push([operations[0]])
      let before = try share.read("\(a.id)-1.tern")
      isFull.withLock { $0 = true }
      let error = await #expect(throws: RemoteError.self) { try await remote.push(operations) }
      #expect(error?.isTransient == true && error?.message.contains("no room") == true)
      #expect(try share.read("\(a.id)-1.tern") == before)
      isFull.withLock { $0 = false }
      _ = try await remote.push(operations)
      #expect(try await share.fresh().operations == operations)
    }
  }

  @Test func `a folder that cannot be written to is read all the same`() async throws {
    try await Share.run { share in
      var (a, b) = (Author(1), Author(2))
      let operations = a.next(2)
      _ = try await share.remote(a.id).push(operations)
      let remote = share.remote(
        b.id,
        files: DurableFile(isSynced: false) { _, _ in
          errno = EROFS
          return -1
        })
      #expect(try await remote.everything(reader: b.id).operations == operations)
      let error = await #expect(throws: RemoteError.self) { try await remote.push(b.next(1)) }
      #expect(error?.isTransient == true && error?.message.contains("\(b.id)-1.tern") == true)
      #expect(try await share.fresh().operations == operations)
    }
  }

  @Test func `a file that can't be read is named, and keeps nobody else's back`() async throws {
    try await Share.run { share in
      var (a, b) = (Author(1), Author(2))
      let (first, others) = (a.next(3), b.next(3))
      _ = try await share.remote(a.id).push(first)
      _ = try await share.remote(b.id).push(others)
      let name = "\(a.id)-1.tern"
      let node =
        try FileManager.default.attributesOfItem(
          atPath: share.space.appending(path: name).path)[.systemFileNumber] as? UInt64
      let isBad = Mutex(false)
      var files = DurableFile(isSynced: false)
      files.read = { descriptor, buffer, offset in
        var status = stat()
        if isBad.withLock({ $0 }), fstat(descriptor, &status) == 0, status.st_ino == node! {
          errno = EIO
          return -1
        }
        return DurableFile.fromDisk(descriptor, buffer, offset)
      }
      // One device has read it before, and the other one has not.
      let (old, new) = (
        share.remote(Author.id(98), files: files), share.remote(Author.id(99), files: files)
      )
      #expect(try await old.greet().heads[a.id] == 3)
      isBad.withLock { $0 = true }
      var cursors: [RemoteCursor] = []
      for reader in [old, new] {
        let page = try await reader.pull(after: nil, excluding: Author.id(99))
        #expect(page.operations == others && !page.hasMore)
        #expect(page.withheld?.isTransient == true)
        #expect(page.withheld?.message.contains(name) == true)
        cursors.append(page.cursor)
      }
      #expect(try await new.ignoredFiles().map(\.name) == [name])
      isBad.withLock { $0 = false }
      for (reader, cursor) in zip([old, new], cursors) {
        let page = try await reader.pull(after: cursor, excluding: Author.id(99))
        #expect(page.operations == first && page.withheld == nil)
      }
    }
  }
}
#endif
