import Foundation
import GRDB
import Synchronization
import Tern
import TernDatabase
import TestProcesses
import Testing

@testable import TernJobs

/// Whose the folder of files is, what is swept from it, and when it goes.
@Suite("Files: the folder of files")
struct FolderTests {
  private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  private func write(_ text: String, to path: String) throws {
    let url = URL(filePath: path)
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url)
  }

  @Test func `what cannot be swept is told, stops nothing else, and what is no session stays`()
    throws
  {
    try Rig.run { rig in
      let root = rig.files.path
      let (stuck, dead) = ("\(root)/00000000000000aa", "\(root)/00000000000000bb")
      let (unlocked, foreign) = ("\(root)/00000000000000cc", "\(root)/00000000000000dd")
      // A lock that cannot be opened.
      try write("", to: "\(stuck)/lock/is a folder")
      try write("", to: "\(dead)/lock")
      // As a write that is atomic leaves it, when its process dies.
      try write("half", to: "\(dead)/.dat.nosync01a4.Qx7Hvb")
      try FileManager.default.createDirectory(
        atPath: unlocked, withIntermediateDirectories: true)
      try write("mine", to: "\(foreign)/0000000000000001")
      let queue = try rig.open()
      #expect(queue.unsweptFiles.map { ($0 as? FileFailure)?.code } == [EISDIR])
      #expect(exists(stuck) && exists("\(foreign)/0000000000000001"))
      #expect(!exists(dead) && !exists(unlocked))
    }
  }

  #if os(Linux)
  @Test func `of however many dead sessions one is open at a time`() throws {
    try Rig.run { rig in
      for number in 10..<40 { try write("", to: "\(rig.files.path)/00000000000000\(number)/lock") }
      let most = Mutex((asked: 0, open: 0))
      let folder = try JobFolder(
        root: rig.files.path, DurableFile(isSynced: false),
        owner: FolderOwner(queue: "1", database: ""), makeID: { 1 }
      ) { _ in
        let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        let open = names.compactMap {
          try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
        }.filter { $0.hasPrefix(rig.files.path) && $0.hasSuffix("/lock") }
        most.withLock { $0 = ($0.asked + 1, max($0.open, open.count)) }
        return []
      }
      // Its own, and one.
      #expect(most.withLock { $0.open } == 2)
      #expect(most.withLock { $0.asked } == 30)
      #expect(folder.unswept.isEmpty)
    }
  }

  @Test func `an opening's lock is durable before it holds a file`() throws {
    try withTemporaryFolder { folder in
      let synced = Synced()
      let durable = synced.file
      let files = try JobFolder(
        root: "\(folder)/files", durable, owner: FolderOwner(queue: "1", database: "a"),
        makeID: { 1 }
      ) { _ in [] }
      let session = "\(folder)/files/0000000000000001"
      #expect(exists("\(session)/lock"))
      #expect(synced.paths.suffix(2) == [session, "\(folder)/files"])
      withExtendedLifetime(files) {}
    }
  }

  @Test func `every folder that is made is durable in the one above`() throws {
    try withTemporaryFolder { folder in
      let synced = Synced()
      let file = synced.file
      try file.makeFolder("\(folder)/a/b/c")
      #expect(exists("\(folder)/a/b/c"))
      let made = synced.paths
      #expect(made == [folder, "\(folder)/a", "\(folder)/a/b"])
      try file.makeFolder("\(folder)/a/b")
      #expect(synced.paths.count == 3)
    }
  }
  #endif

  @Test(.timeLimit(.minutes(1)))
  func `numbers that repeat for ever end an opening with an error`()
    throws
  {
    try withTemporaryFolder { folder in
      let database = try DatabaseQueue(path: "\(folder)/app.sqlite")
      let draws = Mutex<[UInt64]>([])
      func open(_ numbers: [UInt64]) throws -> JobQueue {
        draws.withLock { $0 = numbers }
        let environment = JobEnvironment(
          makeID: { draws.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] } })
        return try JobQueue.openBlocking(database, environment: environment)
      }
      let first = try open([7])
      let error = #expect(throws: JobQueueError.self) { _ = try open([7]) }
      #expect(error?.code == .fileFailed)
      #expect(error?.message.contains("app.sqlite-files has a “0000000000000007” already") == true)
      #expect(error?.message.contains("makeID") == true)
      _ = try open([7, 8])
      withExtendedLifetime(first) {}
    }
  }

  @Test func `the folder of a database in memory goes with it, and not before`() throws {
    let root: String
    do {
      let database = try DatabaseQueue()
      func attach() throws -> String {
        let queue = try JobQueue.openBlocking(database)
        let path = queue.folder.root + "/" + queue.folder.newPath()
        try write("photo", to: path)
        let file = JobFile(
          name: "photo", path: String(path.dropFirst(queue.folder.root.count + 1)),
          folder: queue.folder)
        try database.write { _ = try queue.enqueue(Tidy(name: ""), files: [file], in: $0) }
        return path
      }
      let path = try attach()
      let queue = try JobQueue.openBlocking(database)
      root = queue.folder.root
      #expect(path.hasPrefix(root) && exists(path), "the queue that took it is gone")
    }
    // The system takes a database's queue apart, and with it the database, when it likes.
    // real time: nothing tells of that.
    let end = ContinuousClock.now + .seconds(20)
    while exists(root), ContinuousClock.now < end { sched_yield() }
    #expect(!exists(root))
  }

  @Test func `a folder is one database's, until that is gone`() throws {
    try withTemporaryFolder { folder in
      func open(_ name: String, files: String = "files") throws -> JobQueue {
        try JobQueue.openBlocking(
          DatabaseQueue(path: "\(folder)/\(name)"), files: URL(filePath: "\(folder)/\(files)"))
      }
      func remove(_ name: String) throws {
        try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
      }
      _ = try open("a.sqlite")
      let error = #expect(throws: JobQueueError.self) { _ = try open("b.sqlite") }
      #expect(error?.code == .folderInUse)
      #expect(error?.message.contains("/a.sqlite") == true)
      _ = try open("b.sqlite", files: "others")
      // A database that was moved keeps it, and so does one that was made anew in its place.
      try FileManager.default.moveItem(
        atPath: "\(folder)/a.sqlite", toPath: "\(folder)/c.sqlite")
      _ = try open("c.sqlite")
      try remove("c.sqlite")
      _ = try open("c.sqlite")
      #expect(throws: JobQueueError.self) { _ = try open("b.sqlite") }
      try remove("c.sqlite")
      _ = try open("b.sqlite")
    }
  }

  @Test func `a copy of a database has another folder, and so has one whose place is hidden`()
    throws
  {
    try withTemporaryFolder { folder in
      let files = FileManager.default
      func open(_ name: String) throws -> JobQueue {
        try JobQueue.openBlocking(
          DatabaseQueue(path: "\(folder)/\(name)"), files: URL(filePath: "\(folder)/files"))
      }
      func expectRefused(_ name: String) {
        let error = #expect(throws: JobQueueError.self) { _ = try open(name) }
        #expect(error?.code == .folderInUse)
      }
      _ = try open("a.sqlite")
      try files.copyItem(atPath: "\(folder)/a.sqlite", toPath: "\(folder)/copy.sqlite")
      expectRefused("copy.sqlite")
      // Where it was cannot be looked at: the system says ELOOP, which is not that it is gone.
      try files.moveItem(atPath: "\(folder)/a.sqlite", toPath: "\(folder)/moved.sqlite")
      try files.createSymbolicLink(
        atPath: "\(folder)/a.sqlite", withDestinationPath: "\(folder)/a.sqlite")
      expectRefused("b.sqlite")
      // A sandbox that moves hides the place from before; the queue's id tells that it is the same.
      _ = try open("moved.sqlite")
    }
  }

  @Test func `copies of one database in memory have a folder and a worker each`() throws {
    try withTemporaryFolder { folder in
      let original = try DatabaseQueue(path: "\(folder)/app.sqlite")
      _ = try JobQueue.openBlocking(original)
      let copies = try (1...2).map { _ in
        try DatabaseQueue.inMemoryCopy(fromPath: "\(folder)/app.sqlite")
      }
      let rigs = try copies.map { try Rig(seed: 1, existing: $0, folder: folder) }
      let queues = try zip(copies, rigs).map {
        try JobQueue.openBlocking($0, environment: $1.environment)
      }
      #expect(queues[0].filesFolder != queues[1].filesFolder)
      // Whoever opens it again finds the same place.
      #expect(try JobQueue.openBlocking(copies[0]).filesFolder == queues[0].filesFolder)
      let workers = zip(rigs, queues).map { rig, queue in
        JobWorker(queue) { $0.handle(Tidy.self) { job, _ in rig.note(job.name) } }
      }
      for (copy, queue) in zip(copies, queues) {
        try copy.write { _ = try queue.enqueue(Tidy(name: "a"), in: $0) }
      }
      try rigs[0].perform {
        try await workers[0].run { try rigs[1].drain(workers[1]) }
      }
      #expect(rigs[1].notes() == ["0 a"])
    }
  }

  @Test func `a folder that is given to a database in memory is its own while that is open`() throws
  {
    try withTemporaryFolder { folder in
      let files = URL(filePath: folder + "/files")
      let database = try DatabaseQueue()
      var queue: JobQueue? = try JobQueue.openBlocking(database, files: files)
      let others = try [DatabaseQueue(), DatabaseQueue(path: folder + "/app.sqlite")]
      for other in others {
        let error = #expect(throws: JobQueueError.self) {
          _ = try JobQueue.openBlocking(other, files: files)
        }
        #expect(error?.code == .folderInUse)
        #expect(error?.message.contains("a database in memory") == true)
      }
      _ = try JobQueue.openBlocking(database, files: files)
      withExtendedLifetime(queue) {}
      queue = nil
      _ = try JobQueue.openBlocking(others[1], files: files)
    }
  }

  @Test(.timeLimit(.minutes(1))) func `a pipe is no file, as a source and as what a step made`()
    throws
  {
    try Rig.run { rig in
      let queue = try rig.open()
      let pipe = rig.files.deletingLastPathComponent().appending(path: "pipe")
      #expect(mkfifo(pipe.path, 0o600) == 0)
      let error = #expect(throws: JobQueueError.self) {
        try rig.perform { try await queue.attach(copyOf: pipe, as: "photo") }
      }
      #expect(error?.code == .fileFailed)
      #expect(try queue.durableFile.settle(pipe.path) == nil)
      #expect(try rig.storedFiles().isEmpty)
    }
  }

  /// Tells of a connection's end, behind those that heard of its transactions before.
  private final class Farewell: TransactionObserver {
    let isOver: Flag

    init(_ isOver: Flag) { self.isOver = isOver }

    deinit { isOver.set() }

    func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { false }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidCommit(_ db: Database) {}
    func databaseDidRollback(_ db: Database) {}
  }

  private final class Flag: Sendable {
    private let value = Mutex(false)
    var isSet: Bool { value.withLock { $0 } }
    func set() { value.withLock { $0 = true } }
  }

  @Test func `connections of one database in memory share a folder until the last is gone`() throws
  {
    func connect() throws -> (queue: JobQueue, isOver: Flag) {
      let database = try DatabaseQueue(named: "tern-shared-folder")
      let queue = try JobQueue.openBlocking(database)
      let isOver = Flag()
      database.add(transactionObserver: Farewell(isOver), extent: .databaseLifetime)
      return (queue, isOver)
    }
    func wait(for isOver: Flag) {
      // The system takes a database's queue apart when it likes. real time: it tells nobody.
      let end = ContinuousClock.now + .seconds(20)
      while !isOver.isSet, ContinuousClock.now < end { sched_yield() }
      #expect(isOver.isSet)
    }
    var second: (queue: JobQueue, isOver: Flag)? = try connect()
    let (root, isOver) = (second!.queue.folder.root, second!.isOver)
    let path = root + "/" + second!.queue.folder.newPath()
    try write("photo", to: path)
    do {
      var first: (queue: JobQueue, isOver: Flag)? = try connect()
      let isOver = first!.isOver
      #expect(first!.queue.folder.root == root)
      first = nil
      wait(for: isOver)
    }
    #expect(exists(path), "the other connection has it")
    second = nil
    wait(for: isOver)
    #expect(!exists(root))
  }
}
