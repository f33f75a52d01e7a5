import Foundation
import GRDB
import Synchronization
import Tern
import TernTesting

/// For how long somebody else waits to write to a file while a page of operations is merged into it.
struct LockBench {
  let path: String
  let operations: Int

  /// Prints the seconds that the merge took, those that the longest of another connection's writes
  /// waited meanwhile, and how many there were: with Tern's limit, and with none.
  func run() async throws {
    let remote = MemoryRemote(pageOperations: operations)
    let author = try await replica(DatabaseQueue())
    for number in 0..<operations {
      try await author.database.write { try $0.execute(sql: Self.insert, arguments: [number]) }
      try author.store.seal()
    }
    try await SyncEngine(author, remote: remote).syncOnce()
    for (name, limit) in [("50-ms", Duration?.none), ("whole", .seconds(3600))] {
      let path = "\(self.path)-\(name)"
      let reader = try await replica(DatabasePool(path: path))
      var environment = SyncEnvironment()
      if let limit { environment.mergeLimit = limit }
      let engine = SyncEngine(reader, remote: remote, environment: environment)
      let isOver = Atomic(false)
      async let waits = Task.detached { try Self.write(to: path, until: isOver) }.value
      let begin = ContinuousClock.now
      try await engine.syncOnce()
      let taken = begin.duration(to: .now)
      isOver.store(true, ordering: .relaxed)
      let (longest, count) = try await waits
      print(name, seconds(taken), seconds(longest), count)
    }
  }

  /// As a second process does: it has no other word of a lock than that it is refused.
  private static func write(to path: String, until isOver: borrowing Atomic<Bool>) throws
    -> (longest: Duration, count: Int)
  {
    var configuration = Configuration()
    configuration.busyMode = .timeout(60)
    let database = try DatabaseQueue(path: path, configuration: configuration)
    var (longest, count) = (Duration.zero, 0)
    while !isOver.load(ordering: .relaxed) {
      let begin = ContinuousClock.now
      try database.write { try $0.execute(sql: "INSERT INTO other DEFAULT VALUES") }
      longest = max(longest, begin.duration(to: .now))
      count += 1
      Thread.sleep(forTimeInterval: 0.001)
    }
    return (longest, count)
  }

  private func seconds(_ duration: Duration) -> String {
    String(format: "%.3f", duration / .seconds(1))
  }

  private static let insert = """
    WITH RECURSIVE numbers (value) AS
      (SELECT 1 UNION ALL SELECT value + 1 FROM numbers WHERE value < 20)
    INSERT INTO item (id, title) SELECT ?1 || '-' || value, 'a title of some length' FROM numbers
    """

  private func replica(_ database: some DatabaseWriter) async throws -> Replica {
    try await database.write { db in
      try db.execute(
        sql: """
          CREATE TABLE item (id TEXT NOT NULL PRIMARY KEY, title TEXT);
          CREATE TABLE other (id INTEGER PRIMARY KEY);
          """)
    }
    return try await Replica.open(
      database, schema: SyncSchema(version: 1, tables: [SyncTable("item")]))
  }
}
