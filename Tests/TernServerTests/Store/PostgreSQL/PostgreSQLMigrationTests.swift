#if PostgreSQL
import Foundation
import TernCore
import Testing

@testable import TernServer

/// A made-up format 2: spaces have a colour, which from its contraction on none lacks.
extension PostgreSQLMigrations {
  fileprivate static let colours = PostgreSQLMigrations(steps: [
    PostgreSQLMigration { schema in
      [
        "ALTER TABLE \(schema("space")) ADD COLUMN colour text",
        "CREATE INDEX space_colour ON \(schema("space")) (colour)",
      ]
    } contraction: { schema in
      [
        "UPDATE \(schema("space")) SET colour = 'grey' WHERE colour IS NULL",
        "ALTER TABLE \(schema("space")) ALTER colour SET DEFAULT 'grey', ALTER colour SET NOT NULL",
      ]
    }
  ])

  /// A format 3 on top of it, whose expansion fails.
  fileprivate static let broken = PostgreSQLMigrations(
    steps: colours.steps + [
      PostgreSQLMigration { schema in
        [
          "ALTER TABLE \(schema("space")) ADD COLUMN shade text",
          "ALTER TABLE \(schema("space")) ADD COLUMN colour text",
        ]
      } contraction: { _ in
        []
      }
    ])
}

@Suite(
  "PostgreSQL: from one format to the next", .timeLimit(.minutes(1)),
  .enabled(if: TestDatabase.address != nil, "script/test starts a database"))
struct PostgreSQLMigrationTests {
  private let database: TestDatabase

  init() throws { database = try TestDatabase() }

  private func openNew(lockTimeout: Duration = .seconds(2)) throws -> PostgreSQLSpaceStore {
    try database.open(
      seed: 2, { $0.migrationLockTimeout = lockTimeout }, migrations: .colours)
  }

  private func service(_ store: PostgreSQLSpaceStore) -> SpaceService {
    SpaceService(store: store, clock: HandClock().clock)
  }

  private var columns: Set<String> {
    get throws {
      let rows = try database.run(
        """
        SELECT column_name FROM information_schema.columns
        WHERE table_schema = '\(database.schema)' AND table_name = 'space'
        """)
      return Set(rows.map { $0.text(0) ?? "" })
    }
  }

  /// `format` and `oldest_format`.
  private var formats: [Int64] {
    get throws {
      let row = try #require(
        try database.run("SELECT format, oldest_format FROM tern.store").first)
      return [row.integer(0), row.integer(1)]
    }
  }

  @Test func `an old and a new version serve one store, until the migration is finished`() throws {
    let old = try database.open()
    var (ada, bob) = (Author(1), Author(2))
    _ = try service(old).push([ada.write()], to: .home)
    let new = try openNew()
    #expect(new.epoch == old.epoch)
    #expect(try formats == [2, 1])
    // Each writes what the other one reads, and one that is started now is let in.
    _ = try service(old).push([bob.write()], to: .work)
    _ = try service(new).push([ada.write()], to: .home)
    for store in [old, new, try database.open(seed: 3)] {
      #expect(try Set(store.spaces()) == [.home, .work])
      #expect(try store.position(of: .home) == 2)
    }
    #expect(try new.finishMigration() == PostgreSQLFormats(format: 2, oldest: 2, known: 2))
    let others = try database.run("SELECT 1::bigint FROM tern.space WHERE colour <> 'grey'")
    #expect(others.count == 0)
    // The old one reads nothing and writes nothing any more, and says why.
    let next = ada.write()
    for ask in [
      { _ = try old.spaces() }, { _ = try old.summary(of: .home) },
      { _ = try service(old).push([next], to: .home) },
      { _ = try old.heads(of: [.home]) }, { _ = try database.open(seed: 4) },
    ] as [() throws -> Void] {
      let error = #expect(throws: StoreError.self) { try ask() }
      #expect(error?.code == .newerFormat)
      #expect(error?.message.contains("tern store migrate --finish") == true)
    }
    _ = try service(new).push([next], to: .home)
    #expect(try new.position(of: .home) == 3)
  }

  @Test func `several servers that start at once bring the tables forward once`() async throws {
    _ = try database.open()
    let database = database
    let epochs = try await withThrowingTaskGroup(of: String.self) { group in
      for seed in 1...4 {
        group.addTask {
          try database.open(seed: UInt64(seed), migrations: .colours).epoch
        }
      }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(epochs.count == 1)
    #expect(try formats == [2, 1])
    #expect(try columns.contains("colour"))
  }

  @Test func `a lock of another session refuses an expansion, of which nothing is done`() throws {
    let old = try database.open()
    let before = try columns
    try database.holding("space") {
      let began = ContinuousClock.now
      let error = #expect(throws: StoreError.self) {
        try openNew(lockTimeout: .milliseconds(200))
      }
      #expect(ContinuousClock.now - began < .seconds(5))
      #expect(error?.code == .inUse)
      #expect(error?.message.contains("pg_stat_activity") == true)
    }
    #expect(try formats == [1, 1])
    #expect(try columns == before)
    var ada = Author(1)
    _ = try service(old).push([ada.write()], to: .home)
    #expect(try openNew().formats().format == 2)
    #expect(try columns == before.union(["colour"]))
  }

  @Test func `a lock of another session refuses a contraction, and a second run finishes`() throws {
    let old = try database.open()
    let new = try openNew(lockTimeout: .milliseconds(200))
    var ada = Author(1)
    _ = try service(old).push(ada.write(count: 1), to: .home)
    try database.holding("space") {
      let error = #expect(throws: StoreError.self) { try new.finishMigration() }
      #expect(error?.code == .inUse)
    }
    #expect(try formats == [2, 1])
    let coloured = try database.run("SELECT 1::bigint FROM tern.space WHERE colour IS NOT NULL")
    #expect(coloured.count == 0)
    _ = try service(old).push(ada.write(count: 1), to: .home)
    try new.finishMigration()
    #expect(try formats == [2, 2])
    // Once more changes nothing.
    try new.finishMigration()
    #expect(try formats == [2, 2])
  }

  @Test func `what an older version has begun is over before its use ends`() throws {
    let old = try database.open()
    let new = try openNew(lockTimeout: .milliseconds(200))
    try old.update(.home) { rows in
      let error = #expect(throws: StoreError.self) { try new.finishMigration() }
      #expect(error?.code == .inUse)
      #expect(rows.position == 0)
    }
    #expect(try formats == [2, 1])
    #expect(try new.finishMigration().oldest == 2)
  }

  @Test func `a step that fails undoes itself, and those before it stay`() throws {
    _ = try database.open()
    #expect(throws: PostgreSQLError.self) { try database.open(seed: 2, migrations: .broken) }
    #expect(try formats == [2, 1])
    #expect(try columns.contains("colour") && !columns.contains("shade"))
  }

  @Test func `a server that was left running is not ready, and answers unavailable`() async throws {
    let old = try database.open()
    let new = try openNew()
    try await LiveServer.run(store: old, isWatched: true) { server async throws in
      #expect(try await server.send(server.request("/v1/spaces/home")).status == 200)
      try new.finishMigration()
      var ada = Author(1)
      let answer = try await server.push([ada.write()])
      #expect((answer.status, answer.problem) == (503, "unavailable"))
      // The time limit of the suite ends this if it stays ready.
      while try await server.watch("/ready").status == 200 { await Task.yield() }
      #expect(try new.summary(of: .home).position == 0)
    }
  }

  @Test func `the command says who can use the store`() throws {
    let data = ["--data", try #require(TestDatabase.address), "--schema", database.schema]
    let said = try TernProcess.run(["store", "migrate"] + data)
    #expect(said.code == 0)
    #expect(
      said.output == """
        the schema \(database.schema) has format 1
        versions of Tern that know format 1 or a newer one can use it

        """)
    let finished = try TernProcess.run(["store", "migrate", "--finish"] + data)
    #expect((finished.output, finished.code) == (said.output, 0))
    let file = try TernProcess.run("store", "migrate", "--data", "/nowhere/data.tern")
    #expect(file.code == 64)
    #expect(file.errors.contains("is for a database"))
  }
}
#endif
