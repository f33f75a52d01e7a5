import GRDB
import GRDBSQLite

extension Durability {
  /// Writes the log of a connection in WAL mode once more, as programs see it, and waits for the
  /// disk. The connection has the lock for writing.
  ///
  /// A sync that fails can leave the system taking for written what it did not write: no later sync
  /// makes that last, and losing power ends the log before it. A checkpoint is no way out. As soon
  /// as it has moved a page, a log that ends early puts older pages beside newer ones, and the file
  /// is malformed; and a log that a reader keeps is not begun anew. Here nothing changes that is
  /// there, and only what is missing comes back: power may go at any moment, and
  /// neither readers nor checkpoints are in the way.
  ///
  /// - Throws: `DatabaseError`.
  /// - Source: <https://www.sqlite.org/fileformat2.html#walformat>
  static func rewriteLog(_ connection: OpaquePointer) throws {
    var file: UnsafeMutablePointer<sqlite3_file>?
    try check(
      sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file),
      "the log cannot be found")
    guard let file, let methods = file.pointee.pMethods?.pointee else { return }
    var size: Int64 = 0
    try check(methods.xFileSize(file, &size), "the log's size cannot be read")
    var header = [UInt8](repeating: 0, count: 32)
    var offset: Int64 = 0
    func read(_ piece: inout [UInt8]) throws -> Bool {
      let count = Int32(piece.count)
      if offset + Int64(count) > size { return false }
      try check(methods.xRead(file, &piece, count, offset), "the log cannot be read")
      return true
    }
    func write(_ piece: [UInt8]) throws {
      try check(
        methods.xWrite(file, piece, Int32(piece.count), offset), "the log cannot be written")
      offset += Int64(piece.count)
    }
    // The app may have another journal by now, with which nothing is left unsynced.
    guard try read(&header), header.starts(with: logHead) else { return }
    try write(header)
    let pageSize = header[8..<12].reduce(0) { $0 << 8 | Int($1) }
    var frame = [UInt8](repeating: 0, count: 24 + pageSize)
    // Behind the frames of this log the file may have those of the one before, with other salts.
    while try read(&frame), frame[8..<16].elementsEqual(header[16..<24]) { try write(frame) }
    try check(methods.xSync(file, SQLITE_SYNC_FULL), "the log cannot be synced")
  }

  /// What a log begins with, whatever the order of bytes in its checksums.
  private static let logHead: [UInt8] = [0x37, 0x7F, 0x06]

  private static func check(_ code: Int32, _ message: String) throws {
    guard code != SQLITE_OK else { return }
    throw DatabaseError(resultCode: ResultCode(rawValue: code), message: message)
  }
}
