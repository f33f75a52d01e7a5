// An app that script/pages looks at from outside, PageWriter FOLDER: makes FOLDER/library.sqlite with what the page of
// `tern inspect --serve` shows, says `ready`, and stays open. It answers each line of its input once it is done: `write`
// inserts a book, `seal` has the other device's writes come and goes on with its own, `scanner works` lets the failing
// job succeed. It ends with its input.

import Foundation
import GRDB
import Synchronization
import Tern
import TernJobs

struct ReadPhoto: Job {
  static let kind = "read-photo"
  static let service: String? = "recogniser"
  var photo: Int
}

struct SendReport: Job {
  static let kind = "send-report"
  static let service: String? = "mail"
}

struct IndexShelf: Job {
  static let kind = "index-shelf"
}

struct ForgottenJob: Job {
  static let kind = "import-2024"
}

let creation = """
  CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL);
  CREATE TABLE book (
    isbn TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL, author TEXT, times_read INTEGER NOT NULL DEFAULT 0,
    place TEXT UNIQUE, shelf TEXT REFERENCES shelf ON DELETE CASCADE);
  """
let schema = SyncSchema(
  version: 3, tables: [SyncTable("shelf"), SyncTable("book", merge: ["times_read": .counter])])

struct Device {
  let database: any DatabaseWriter
  let replica: Replica
  let engine: SyncEngine

  init(_ database: any DatabaseWriter, title: String, id: UInt64, share: URL) async throws {
    self.database = database
    let tables = creation.replacing("title TEXT NOT NULL", with: title)
    try await database.write { try $0.execute(sql: tables) }
    let replica = try Replica.openBlocking(
      database, schema: schema, makeID: { ReplicaID(high: id, low: id &* 0x9e37_79b9_7f4a_7c15) })
    self.replica = replica
    engine = SyncEngine(replica, remote: DirectoryRemote(share, space: "home", replica: replica))
  }

  func write(_ sql: String) async throws {
    try await database.write { try $0.execute(sql: sql) }
    try await replica.seal()
  }
}

func say(_ text: String) {
  FileHandle.standardOutput.write(Data((text + "\n").utf8))
}

guard CommandLine.arguments.count == 2 else {
  FileHandle.standardError.write(Data("usage: PageWriter FOLDER\n".utf8))
  exit(2)
}
let folder = URL(filePath: CommandLine.arguments[1])
let share = folder.appending(path: "share")
try FileManager.default.createDirectory(at: share, withIntermediateDirectories: true)

let phone = try await Device(
  DatabasePool(path: folder.appending(path: "library.sqlite").path),
  title: "title TEXT NOT NULL CHECK (title <> '')", id: 0x5f3a_91c2_0b7e_44d8, share: share)
let tablet = try await Device(
  DatabaseQueue(), title: "title TEXT NOT NULL", id: 0xa81c_07d9_63e2_1f50, share: share)

try await phone.write(
  """
  INSERT INTO shelf VALUES ('hall', 'Hall'), ('attic', 'Attic');
  INSERT INTO book (isbn, title, author, shelf) VALUES
    ('9780441013593', 'Dune', 'Frank Herbert', 'hall'),
    ('9780261103252', 'The Lord of the Rings', 'J. R. R. Tolkien', 'hall'),
    ('9789774160639', 'ألف ليلة وليلة', NULL, 'hall')
  """)
try await phone.engine.syncOnce()
try await tablet.engine.syncOnce()
try await phone.write("UPDATE book SET times_read = times_read + 1 WHERE isbn = '9780441013593'")

// What the two do without each other.
try await phone.write(
  """
  UPDATE book SET title = 'أَلْفُ لَيْلَةٍ <img src=x onerror="document.title=''stolen''">'
    WHERE isbn = '9789774160639';
  UPDATE book SET author = 'Tolkien' WHERE isbn = '9780261103252';
  UPDATE book SET title = 'Dune, first edition', author = 'F. Herbert' WHERE isbn = '9780441013593';
  DELETE FROM shelf WHERE id = 'attic';
  INSERT INTO book (isbn, title, place) VALUES ('9780552573221', 'Mort', 'A1')
  """)
// Of two writes in one millisecond either can be the later.
try await Task.sleep(for: .milliseconds(20))  // real time: the clocks of replicas are the system's
try await tablet.write(
  """
  UPDATE book SET title = '「千夜一夜物語」' WHERE isbn = '9789774160639';
  DELETE FROM book WHERE isbn = '9780261103252';
  UPDATE book SET title = 'Dune, 40th anniversary edition', times_read = times_read + 2
    WHERE isbn = '9780441013593';
  INSERT INTO book (isbn, title, shelf) VALUES ('9780330508117', 'The Hitchhiker''s Guide', 'attic');
  INSERT INTO book (isbn, title, place) VALUES ('9780575094185', 'Do Androids Dream?', 'A1');
  INSERT INTO book (isbn, title) VALUES ('9780000000002', '')
  """)
try await tablet.engine.syncOnce()
try await phone.engine.syncOnce()
try await phone.write("UPDATE book SET times_read = times_read + 1 WHERE isbn = '9780441013593'")
try phone.database.write {
  try $0.execute(sql: "UPDATE book SET author = 'Herbert' WHERE isbn = '9780441013593'")
}

let isScannerWorking = Mutex(false)
let jobs = try await JobQueue.open(phone.database)
try phone.database.write { db in
  try jobs.enqueue(SendReport(), in: db)
  try jobs.enqueue(ForgottenJob(), in: db)
  try jobs.enqueue(IndexShelf(), in: db)
  for photo in 1...3 { try jobs.enqueue(ReadPhoto(photo: photo), in: db) }
}
let worker = JobWorker(jobs) {
  $0.handle(ReadPhoto.self) { _, _ in
    throw JobFailure(
      .limited(delay: .seconds(540)), "the recogniser answered 429, Too Many Requests")
  }
  $0.handle(SendReport.self) { _, _ in
    guard isScannerWorking.withLock({ $0 }) else {
      throw JobFailure(.permanent, "the mail server does not know <nobody@example.org>")
    }
  }
  $0.handle(IndexShelf.self) { _, context in
    try await context.report(progress: 0.4, message: "412 of 1,030 pages")
    try await Task.sleep(for: .seconds(3600))  // real time: it runs as long as the test looks
  }
}

func isSettled() async throws -> Bool {
  try await phone.database.read { db in
    let records = try jobs.records(in: db)
    let states = Set(records.map(\.state))
    let hasReported = records.contains { $0.progress != nil }
    return try states.isSuperset(of: [.failed, .parked, .running, .waiting]) && hasReported
      && !jobs.gates(in: db).isEmpty
  }
}

func answer(_ line: String) async throws {
  switch line {
  case "write":
    try await phone.database.write { db in
      let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM book")!
      try db.execute(
        sql: "INSERT INTO book (isbn, title) VALUES (?, ?)",
        arguments: ["978000000\(1000 + count)", "Book \(count)"])
    }
  case "seal": try await phone.replica.seal()
  case "scanner works": isScannerWorking.withLock { $0 = true }
  default: say("unknown")
  }
  say("done \(line)")
}

try await withThrowingTaskGroup(of: Void.self) { group in
  group.addTask { try await worker.run() }
  while try await !isSettled() {
    try await Task.sleep(for: .milliseconds(20))  // real time: the worker's
  }
  say("ready")
  // Lines are read on a thread of its own.
  let (lines, continuation) = AsyncStream.makeStream(of: String.self)
  Thread.detachNewThread {
    while let line = readLine() { continuation.yield(line) }
    continuation.finish()
  }
  for await line in lines { try await answer(line) }
  group.cancelAll()
}
