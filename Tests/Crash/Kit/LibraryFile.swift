import GRDB
import Tern

/// A device's file while no process of its app lives.
struct LibraryFile {
  private static let writesBefore = 60
  private static let writesByOthers = 3

  let path: String
  let device: String
  let seed: UInt64

  /// Makes what the first life finds: rows that the app wrote before it had Tern, and, in a replica,
  /// some that it captured since.
  ///
  /// - Returns: the number of the last write.
  func fill(isReplica: Bool) throws -> Int {
    try using { database in
      let migrator = Library.migrator(1)
      try migrator.migrate(database)
      try write(1...Self.writesBefore / 2, database)
      if isReplica {
        _ = try Replica.openBlocking(
          database, schema: Library.schema(1), migrator: migrator,
          makeID: { ReplicaID(high: 0, low: 1) })
      }
      try write(Self.writesBefore / 2 + 1...Self.writesBefore, database)
      return Self.writesBefore
    }
  }

  func done() throws -> Int { try using { try $0.read(Library.done) } }

  /// Goes on with the device's writes as a program does that knows nothing of Tern.
  ///
  /// - Returns: the number of the last, or `nil` where nobody could tell them from a migration's.
  func writeAsOthers(forgettingRows: Bool) throws -> Int? {
    try using { database in
      guard try !database.read(Library.isMigratedAlone) else { return nil }
      if forgettingRows { try forgetRows(database) }
      let done = try database.read(Library.done)
      try write(done + 1...done + Self.writesByOthers, database)
      return done + Self.writesByOthers
    }
  }

  private func forgetRows(_ database: DatabaseQueue) throws {
    try database.write { db in
      let kept = "SELECT name FROM sqlite_master WHERE name GLOB 'grdb_tern_main_lifted*'"
      for table in try String.fetchAll(db, sql: kept) { try db.drop(table: table) }
    }
  }

  private func write(_ numbers: ClosedRange<Int>, _ database: DatabaseQueue) throws {
    for number in numbers {
      try database.write { try Write(number, device: device, seed: seed).perform($0) }
    }
  }

  private func using<T>(_ body: (DatabaseQueue) throws -> T) throws -> T {
    let database = try DatabaseQueue(path: path)
    let result = try body(database)
    try database.close()
    return result
  }
}
