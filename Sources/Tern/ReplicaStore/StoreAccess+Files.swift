import Foundation
import TernCore
import TernDatabase

/// Files beside the database.
extension StoreAccess {
  /// A file beside the database; `nil` for one in memory.
  func snapshotPath(of remoteID: String) -> String? {
    let path = database.path
    guard path.hasPrefix("/") else { return nil }
    var name = Checksum()
    name.add(Array(remoteID.utf8))
    return "\(path)-\(tables.prefix)\(name.value).parts"
  }

  /// Copies the database as it stands to a new file beside it, that only its owner may read.
  ///
  /// - Returns: its path.
  func keepFile() throws -> String {
    guard database.path.hasPrefix("/") else {
      throw SnapshotError(
        .unsupported, "a database in memory has no file to keep; use one in a file, or erase it")
    }
    var number = 1
    while access(keptPath(number), F_OK) == 0 { number += 1 }
    let path = keptPath(number)
    OwnerOnly.makeFile(path)
    do {
      try database.writeWithoutTransaction { db in
        try db.execute(sql: "VACUUM main INTO ?", arguments: [path])
      }
    } catch {
      unlink(path)
      throw error
    }
    return path
  }

  private func keptPath(_ number: Int) -> String { "\(database.path)-kept-\(number).sqlite" }
}
