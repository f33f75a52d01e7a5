import CFaultVFS
import GRDB
import Testing

/// The disk is itself what it says.
@Suite("Fault VFS")
struct FaultVFSTests {
  private let disk: Disk
  private let path: String

  init() throws {
    disk = try Disk()
    path = disk.path("file")
  }

  private func notes(_ database: any DatabaseReader) throws -> [String] {
    try database.read { try String.fetchAll($0, sql: "SELECT text FROM note ORDER BY rowid") }
  }

  private func opened(synchronous: String) throws -> DatabasePool {
    let pool = try DatabasePool(path: path)
    try pool.writeWithoutTransaction { db in
      try db.execute(
        sql: """
          PRAGMA synchronous = FULL; CREATE TABLE note (text); INSERT INTO note VALUES ('first');
          PRAGMA synchronous = \(synchronous)
          """)
    }
    return pool
  }

  private func add(_ text: String, to pool: DatabasePool) throws {
    try pool.write { try $0.execute(sql: "INSERT INTO note VALUES (?)", arguments: [text]) }
  }

  @Test("of what was not synced, all or nothing is left", arguments: ["NORMAL", "FULL"])
  func power(level: String) throws {
    for (kept, isLeft) in [(Disk.Kept.all, true), (.none, level == "FULL")] {
      let pool = try opened(synchronous: level)
      try add("second", to: pool)
      #expect(try notes(pool) == ["first", "second"], "readers see what was not synced")
      try disk.cyclePower(keeping: kept)
      #expect(throws: DatabaseError.self) { try add("third", to: pool) }
      try? pool.close()
      #expect(try notes(DatabaseQueue(path: path)) == ["first"] + (isLeft ? ["second"] : []))
      try DatabaseQueue(path: path).write { try $0.execute(sql: "DROP TABLE note") }
    }
  }

  @Test("seeds keep different sectors, and the same seed keeps the same")
  func sectors() throws {
    let pool = try opened(synchronous: "NORMAL")
    for number in 0..<20 { try add("note \(number)", to: pool) }
    try disk.cyclePower(keeping: .none)
    try? pool.close()
    #expect(try notes(DatabaseQueue(path: path)) == ["first"])
    let counts = try (0..<20 as Range<UInt64>).map { seed in
      let disk = try Disk()
      let queue = try DatabaseQueue(path: disk.path("file"))
      try queue.writeWithoutTransaction { db in
        try db.execute(sql: "PRAGMA synchronous = OFF; CREATE TABLE note (text)")
      }
      try disk.cyclePower(keeping: .some, seed: seed % 10)
      try? queue.close()
      return disk.head(of: "file", count: 1 << 16).map { $0.count { $0 != 0 } } ?? -1
    }
    #expect(Array(counts[..<10]) == Array(counts[10...]))
    #expect(Set(counts).count > 1)
  }

  @Test("an error comes at its number, and the connection goes on")
  func error() throws {
    let pool = try opened(synchronous: "FULL")
    disk.arm(Fault.diskFull.armed(at: 2, seed: 0))
    let error = #expect(throws: DatabaseError.self) { try add("second", to: pool) }
    #expect(error?.resultCode == .SQLITE_FULL)
    #expect(disk.wasHit)
    disk.disarm()
    try add("third", to: pool)
    #expect(try notes(pool) == ["first", "third"])
  }

  @Test("after a crash no call of an open connection succeeds, and a copy has what is durable")
  func crash() throws {
    let pool = try opened(synchronous: "FULL")
    let copy = try Disk(copying: disk)
    disk.arm(Fault.killInWrite.armed(at: 1, seed: 5))
    #expect(throws: DatabaseError.self) { try add("second", to: pool) }
    #expect(disk.isCrashed)
    #expect(throws: DatabaseError.self) { try notes(DatabaseQueue(path: path)) }
    try? pool.close()
    #expect(try notes(DatabaseQueue(path: copy.path("file"))) == ["first"])
    try disk.cyclePower(keeping: .all)
    #expect(try notes(DatabaseQueue(path: path)) == ["first"])
  }
}
