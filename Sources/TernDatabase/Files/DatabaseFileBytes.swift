import Foundation
import GRDB
import GRDBSQLite

/// The bytes of a database file, read by way of SQLite, which makes or changes nothing.
///
/// POSIX drops every lock that a process has on a file as soon as it closes that file, by whatever
/// descriptor. SQLite waits with its own until its last connection goes, and knows of no others:
/// who opens and closes a database file otherwise, in a process that uses it, lets other processes
/// delete the log in use.
///
/// - Source: <https://www.sqlite.org/howtocorrupt.html>, section 2.2.
package final class DatabaseFileBytes {
  private let connection: OpaquePointer
  private let file: UnsafeMutablePointer<sqlite3_file>
  private let path: String

  /// - Throws: `DatabaseError` where the file can't be opened.
  package init(path: String) throws {
    var connection: OpaquePointer?
    let code = sqlite3_open_v2(
      Self.unchangingURI(path), &connection, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nil)
    var file: UnsafeMutablePointer<sqlite3_file>?
    if code == SQLITE_OK {
      sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file)
    }
    guard let connection, let file, file.pointee.pMethods != nil else {
      sqlite3_close_v2(connection)
      throw DatabaseError(resultCode: ResultCode(rawValue: code == SQLITE_OK ? 14 : code))
    }
    self.connection = connection
    self.file = file
    self.path = path
  }

  deinit { sqlite3_close_v2(connection) }

  /// What SQLite opens as a file that nobody changes: without locks, and without a log beside it.
  package static func unchangingURI(_ path: String) -> String { uri(path, "immutable=1") }

  /// What SQLite opens for writing, and does not make where it is not there.
  package static func presentURI(_ path: String) -> String { uri(path, "mode=rw") }

  private static func uri(_ path: String, _ query: String) -> String {
    let allowed = CharacterSet.urlPathAllowed.subtracting(CharacterSet(charactersIn: "?#%"))
    let absolute = URL(fileURLWithPath: path).path
    guard let escaped = absolute.addingPercentEncoding(withAllowedCharacters: allowed) else {
      return path
    }
    // With an empty host, or two slashes at a path's beginning would name one.
    return "file://\(escaped)?\(query)"
  }

  /// Up to `count` bytes, fewer at the file's end.
  package func read(_ count: Int, at offset: Int64 = 0) throws -> [UInt8] {
    // SQLite's own answer takes a single byte for none.
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    let size = (attributes[.size] as? NSNumber)?.int64Value ?? 0
    var bytes = [UInt8](repeating: 0, count: Int(max(0, min(Int64(count), size - offset))))
    if bytes.isEmpty { return [] }
    let code = file.pointee.pMethods.pointee.xRead(file, &bytes, Int32(bytes.count), offset)
    if code != SQLITE_OK { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    return bytes
  }
}
