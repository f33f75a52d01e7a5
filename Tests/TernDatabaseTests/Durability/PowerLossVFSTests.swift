import CPowerLossVFS
import Foundation
import GRDB
import GRDBSQLite
import TestProcesses
import Testing

/// The VFS of the power-loss tests is itself what it says. Its counters are the process's own, so
/// these run one after the other.
@Suite("Durability: power-loss VFS", .serialized)
struct PowerLossVFSTests {
  init() {
    #expect(tern_powerloss_vfs_register(false) == SQLITE_OK)
  }

  @Test("a commit is in the real file only once it was synced", arguments: ["NORMAL", "FULL"])
  func commit(level: String) throws {
    try withTemporaryFolder { folder in
      let path = folder + "/file"
      let writer = try Connection(path)
      defer { writer.close() }
      try writer.execute("PRAGMA journal_mode = WAL; CREATE TABLE note (text)")
      let syncs = tern_powerloss_sync_count()
      try writer.execute("PRAGMA synchronous = \(level); INSERT INTO note VALUES ('a')")
      #expect((tern_powerloss_sync_count() > syncs) == (level == "FULL"))
      #expect((tern_powerloss_pending_bytes() == 0) == (level == "FULL"))

      try withCopy(of: path, in: folder) { copy in
        let count = try copy.number("SELECT COUNT(*) FROM note")
        #expect(count == (level == "FULL" ? 1 : 0))
      }
    }
  }

  @Test("other connections see what was not synced, also after the last one has closed")
  func pageCache() throws {
    try withTemporaryFolder { folder in
      let path = folder + "/file"
      let writer = try Connection(path)
      try writer.execute("PRAGMA synchronous = OFF; CREATE TABLE note (text)")
      try writer.execute("INSERT INTO note VALUES ('a')")
      let reader = try Connection(path)
      #expect(try reader.number("SELECT COUNT(*) FROM note") == 1)
      reader.close()
      writer.close()
      #expect(tern_powerloss_pending_bytes() > 0)

      try withCopy(of: path, in: folder) { copy in
        let count = try copy.number("SELECT COUNT(*) FROM sqlite_schema")
        #expect(count == 0)
      }
      let later = try Connection(path)
      defer { later.close() }
      #expect(try later.number("SELECT COUNT(*) FROM note") == 1)
      try later.execute("PRAGMA synchronous = FULL; INSERT INTO note VALUES ('b')")
      #expect(tern_powerloss_pending_bytes() == 0, "a sync takes everything along")
    }
  }

  @Test("a file that shrinks and grows is the same after a sync", arguments: 0..<20)
  func sizes(seed: UInt64) throws {
    try withTemporaryFolder { folder in
      let path = folder + "/file"
      let writer = try Connection(path)
      defer { writer.close() }
      let journal = ["DELETE", "TRUNCATE", "PERSIST", "WAL"][Int(seed % 4)]
      try writer.execute("PRAGMA journal_mode = \(journal); PRAGMA auto_vacuum = FULL")
      try writer.execute("PRAGMA synchronous = OFF; CREATE TABLE note (text)")
      for step in 0..<30 as Range<UInt64> {
        switch (seed &* 31 &+ step &* step) % 5 {
        case 0: try writer.execute("DELETE FROM note WHERE rowid % 3 > 0")
        case 1: try writer.execute("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
        default: try writer.execute("INSERT INTO note VALUES (hex(randomblob(\(step * 500))))")
        }
      }
      try writer.execute("PRAGMA synchronous = EXTRA; INSERT INTO note VALUES ('last')")
      // In WAL mode a commit syncs the log alone.
      try writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
      #expect(tern_powerloss_pending_bytes() == 0)
      let sum = "SELECT COUNT(*) * 1000000 + SUM(length(text)) FROM note"
      let expected = try writer.number(sum)
      try withCopy(of: path, in: folder) { copy in
        let check = try copy.text("PRAGMA integrity_check")
        let kept = try copy.number(sum)
        #expect(check == "ok")
        #expect(kept == expected)
      }
    }
  }

  /// What losing power would leave, opened without the VFS.
  private func withCopy(of path: String, in folder: String, _ body: (Connection) throws -> Void)
    throws
  {
    for suffix in ["", "-wal", "-journal"] {
      try? FileManager.default.removeItem(atPath: folder + "/copy" + suffix)
      guard FileManager.default.fileExists(atPath: path + suffix) else { continue }
      try FileManager.default.copyItem(atPath: path + suffix, toPath: folder + "/copy" + suffix)
    }
    let copy = try Connection(folder + "/copy", vfs: nil)
    defer { copy.close() }
    try body(copy)
  }
}

/// A connection through a named VFS, which GRDB has no option for.
private struct Connection {
  private let handle: OpaquePointer

  init(_ path: String, vfs: String? = TERN_POWERLOSS_VFS_NAME) throws {
    var handle: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
    let code = sqlite3_open_v2(path, &handle, flags, vfs)
    guard code == SQLITE_OK, let handle else {
      throw DatabaseError(resultCode: .init(rawValue: code))
    }
    self.handle = handle
  }

  func close() {
    #expect(sqlite3_close(handle) == SQLITE_OK)
  }

  func execute(_ sql: String) throws {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw error(code) }
  }

  func number(_ sql: String) throws -> Int64 {
    try row(sql) { sqlite3_column_int64($0, 0) }
  }

  func text(_ sql: String) throws -> String {
    try row(sql) { String(cString: sqlite3_column_text($0, 0)) }
  }

  private func row<Result>(_ sql: String, _ read: (OpaquePointer) -> Result) throws -> Result {
    var statement: OpaquePointer?
    let code = sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
    guard code == SQLITE_OK, let statement else { throw error(code) }
    defer { sqlite3_finalize(statement) }
    let step = sqlite3_step(statement)
    guard step == SQLITE_ROW else { throw error(step) }
    return read(statement)
  }

  private func error(_ code: CInt) -> DatabaseError {
    let message = String(cString: sqlite3_errmsg(handle))
    return DatabaseError(resultCode: .init(rawValue: code), message: message)
  }
}
