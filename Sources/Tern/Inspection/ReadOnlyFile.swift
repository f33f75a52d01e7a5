import Foundation
import GRDB

/// Reads a database file and changes nothing in it.
///
/// Only where a log lies there without its index, as in a copy, SQLite makes the index beside it.
package struct ReadOnlyFile {
  let path: String

  package init(path: String) {
    self.path = path
  }

  /// - Throws: ``InspectionError``, also for what `body` throws.
  package func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
    try checkHeader()
    do {
      var configuration = Configuration()
      configuration.readonly = true
      configuration.busyMode = .timeout(5)
      let queue = try DatabaseQueue(path: name, configuration: configuration)
      return try queue.read(body)
    } catch let error as InspectionError {
      throw error
    } catch {
      throw InspectionError(.unreadable, path: path, underlyingError: error)
    }
  }

  /// Beside a file in WAL mode even a reader makes a log and an index, and can't remove them. Where
  /// there is no log the file is whole, and is read as one that nobody changes.
  private var name: String {
    guard !FileManager.default.fileExists(atPath: path + "-wal") else { return path }
    let allowed = CharacterSet.urlPathAllowed.subtracting(CharacterSet(charactersIn: "?#%"))
    let absolute = URL(fileURLWithPath: path).path
    guard let escaped = absolute.addingPercentEncoding(withAllowedCharacters: allowed) else {
      return path
    }
    return "file:\(escaped)?immutable=1"
  }

  private func checkHeader() throws {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
      throw InspectionError(.absent, path: path)
    }
    guard !isFolder.boolValue, let handle = FileHandle(forReadingAtPath: path) else {
      throw InspectionError(.unreadable, path: path)
    }
    defer { try? handle.close() }
    let magic = Data("SQLite format 3\0".utf8)
    guard try handle.read(upToCount: magic.count) == magic else {
      throw InspectionError(.notADatabase, path: path)
    }
  }
}
