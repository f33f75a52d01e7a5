import Foundation
import TernDatabase

/// The one database whose files a folder holds; another's files would be swept as nobody's.
struct FolderOwner {
  /// The queue's random id, which goes with its database wherever that is moved, or copied, to.
  let queue: String
  /// Empty in memory.
  let database: String

  /// Writes whose the folder is into a file that is locked and there.
  ///
  /// - Parameter isOpen: whether anybody has the folder open: all that tells of an owner in memory.
  /// - Throws: ``JobQueueError`` `.folderInUse` while the database of another owner exists.
  func claim(_ file: String, _ durable: DurableFile, isOpen: () throws -> Bool) throws {
    let content = String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
    let mine = "\(queue)\n\(database)"
    if content == mine { return }
    let lines = content.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
    if lines.count == 2, try isAnother(String(lines[0]), String(lines[1]), isOpen) {
      let owner = lines[1].isEmpty ? "a database in memory" : String(lines[1])
      throw JobQueueError(
        .folderInUse,
        "the folder holds the files of jobs of \(owner); give each database a folder of its own")
    }
    // In place: the lock is this very file's.
    try mine.write(toFile: file, atomically: false, encoding: .utf8)
    _ = try durable.settle(file)
  }

  private func isAnother(
    _ queue: String, _ path: String, _ isOpen: () throws -> Bool
  ) throws -> Bool {
    if path.isEmpty { return try queue != self.queue && isOpen() }
    switch Self.look(path) {
    case .gone: return false
    // A sandbox hides the place that a database was moved from; another's may be there unseen.
    case .hidden: return queue != self.queue
    // A database that was erased, or made anew at its path, is the same one; a copy is another.
    case .file(let other): return Self.look(database) != .file(other)
    }
  }

  private enum Sight: Equatable {
    case gone, hidden
    /// Its device and its number there.
    case file([UInt64])
  }

  private static func look(_ path: String) -> Sight {
    var status = stat()
    guard stat(path, &status) == 0 else {
      return [ENOENT, ENOTDIR].contains(errno) ? .gone : .hidden
    }
    return .file([UInt64(truncatingIfNeeded: status.st_dev), UInt64(status.st_ino)])
  }
}
