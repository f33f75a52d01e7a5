#if Server
import Foundation
import GRDB
import Testing

@testable import TernServer

@Suite("SQLite: a file that can't be a server's data")
struct RefusedFileTests {
  let folder: TemporaryFolder
  let path: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("data")
  }

  /// Opens the file, expects `code`, and that nothing in the folder changed.
  private func expectRefusal(_ code: StoreError.Code) throws {
    let before = try contents()
    let error = #expect(throws: StoreError.self) { try openStore(path) }
    #expect(error?.code == code)
    #expect(error?.message.contains(path) == true)
    #expect(try contents() == before)
  }

  private func contents() throws -> [String: Data?] {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
    return Dictionary(
      uniqueKeysWithValues: names.map {
        ($0, try? Data(contentsOf: folder.url.appendingPathComponent($0)))
      })
  }

  @Test("a text file is refused and untouched")
  func text() throws {
    try Data(String(repeating: "not a database\n", count: 100).utf8)
      .write(to: URL(fileURLWithPath: path))
    try expectRefusal(.notServerFile)
  }

  @Test("a short file is refused and untouched")
  func short() throws {
    try Data("x".utf8).write(to: URL(fileURLWithPath: path))
    try expectRefusal(.notServerFile)
  }

  @Test("another application's database is refused and untouched")
  func foreign() throws {
    let queue = try DatabaseQueue(path: path)
    try queue.write { try $0.execute(sql: "CREATE TABLE book (id TEXT PRIMARY KEY)") }
    try queue.close()
    try expectRefusal(.notServerFile)
  }

  @Test("a format that is newer, or that is not brought forward, is refused and untouched")
  func formats() throws {
    let newer = Int(ServerFile.formatVersion) + 1
    for (version, code) in [(newer, StoreError.Code.newerFormat), (3, .olderFormat)] {
      try setVersion(version)
      try expectRefusal(code)
    }
  }

  @Test("format 2 is brought forward")
  func older() throws {
    try setVersion(2, Self.toFormat2)
    let epoch = try openStore(path).epoch
    try setVersion(Int(ServerFile.formatVersion))
    #expect(try openStore(path).epoch == epoch)
  }

  @Test("a visitor leaves an older format to the server")
  func visitor() throws {
    try setVersion(2, Self.toFormat2)
    let error = #expect(throws: StoreError.self) {
      var generator = SeededGenerator(state: 1)
      _ = try SQLiteSpaceStore(path: path, using: &generator, checkpoints: false)
    }
    #expect(error?.code == .olderFormat)
    #expect(error?.message.contains("tern serve") == true)
    let queue = try DatabaseQueue(path: path)
    #expect(try queue.read { try Int.fetchOne($0, sql: "PRAGMA user_version") } == 2)
    try queue.close()
  }

  /// Format 2 has no reports of states, no shares, no refusals, no deadlines, no members, no audit
  /// log and no tokens that expire.
  private static let toFormat2 = """
    DROP TABLE audit; DROP TABLE state; DROP TABLE author; DROP INDEX token_space;
    ALTER TABLE token DROP COLUMN label; ALTER TABLE token DROP COLUMN expires_ms;
    ALTER TABLE space DROP COLUMN suspended_ms;
    ALTER TABLE token DROP COLUMN member; ALTER TABLE space DROP COLUMN quota_share;
    ALTER TABLE head DROP COLUMN operations; ALTER TABLE head DROP COLUMN bytes;
    ALTER TABLE space DROP COLUMN quota_authors; ALTER TABLE space DROP COLUMN bytes;
    ALTER TABLE snapshot DROP COLUMN refusal; ALTER TABLE snapshot DROP COLUMN schema;
    ALTER TABLE space DROP COLUMN quota_bytes; ALTER TABLE space DROP COLUMN quota_operations;
    ALTER TABLE space DROP COLUMN refill_ms; ALTER TABLE space DROP COLUMN untrimmed_ms;
    ALTER TABLE space DROP COLUMN released; ALTER TABLE space DROP COLUMN kept_bytes;
    ALTER TABLE snapshot DROP COLUMN dropped_name; ALTER TABLE snapshot DROP COLUMN dropped_ms;
    DROP TABLE trim_mark;
    ALTER TABLE space DROP COLUMN epoch; ALTER TABLE space DROP COLUMN phase;
    ALTER TABLE space DROP COLUMN peer
    """

  /// In the file's own header, where a server looks first.
  private func setVersion(_ version: Int, _ change: String = "") throws {
    if !FileManager.default.fileExists(atPath: path) { try openStore(path).close() }
    let queue = try DatabaseQueue(path: path)
    try queue.writeWithoutTransaction { db in
      try db.execute(sql: change)
      try db.execute(sql: "PRAGMA user_version = \(version)")
      _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE")
    }
    try queue.close()
  }

  @Test("a folder is refused")
  func directory() throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    try expectRefusal(.inaccessible)
  }

  @Test("a folder that is absent is not made")
  func absentFolder() throws {
    let error = #expect(throws: StoreError.self) { try openStore(folder.path("absent/data")) }
    #expect(error?.code == .inaccessible)
    #expect(try contents().isEmpty)
  }

  @Test("one file has one server, whatever links to it", arguments: [true, false])
  func links(isThere: Bool) throws {
    if isThere { try openStore(path).close() }
    let files = FileManager.default
    let (link, second) = (folder.path("link"), folder.path("second"))
    try files.createSymbolicLink(atPath: link, withDestinationPath: "data")
    try files.createSymbolicLink(atPath: second, withDestinationPath: link)
    for (one, other) in [(path, link), (link, path), (second, link)] {
      let lock = try ServingLock(dataPath: one)
      let error = #expect(throws: StoreError.self) { try ServingLock(dataPath: other) }
      #expect(error?.code == .inUse)
      lock.release()
    }
  }

  @Test("a link in a circle is refused")
  func circle() throws {
    let other = folder.path("other")
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: other)
    try FileManager.default.createSymbolicLink(atPath: other, withDestinationPath: path)
    #expect(throws: (any Error).self) { try openStore(path) }
  }

  @Test("an empty file becomes a store")
  func empty() throws {
    try Data().write(to: URL(fileURLWithPath: path))
    #expect(try openStore(path).epoch.count == 32)
  }
}
#endif
