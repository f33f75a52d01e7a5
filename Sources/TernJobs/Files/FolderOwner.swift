import Foundation
import TernDatabase

/// The one database whose files a folder holds; another's files would be swept as nobody's.
struct FolderOwner {
  /// The queue's random id, which goes with its database wherever that is moved to.
  let queue: String
  /// Empty in memory.
  let database: String

  /// Writes whose the folder is into a file that is locked and there.
  ///
  /// - Throws: ``JobQueueError`` `.folderInUse` while the database of another owner exists.
  func claim(_ file: String, _ durable: DurableFile) throws {
    let content = String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
    let mine = "\(queue)\n\(database)"
    if content == mine { return }
    let lines = content.split(separator: "\n", maxSplits: 1)
    if lines.count == 2, lines[0] != queue, isOther(String(lines[1])) {
      throw JobQueueError(
        .folderInUse,
        "the folder holds the files of jobs of \(lines[1]); give each database a folder of its own")
    }
    // In place: the lock is this very file's.
    try mine.write(toFile: file, atomically: false, encoding: .utf8)
    _ = try durable.settle(file)
  }

  /// A database that was erased, or made anew at its path, is the same one.
  private func isOther(_ path: String) -> Bool {
    guard let other = Self.identity(of: path) else { return false }
    return Self.identity(of: database).map { $0 != other } ?? true
  }

  private static func identity(of path: String) -> [UInt64]? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    return [UInt64(truncatingIfNeeded: status.st_dev), UInt64(status.st_ino)]
  }
}
