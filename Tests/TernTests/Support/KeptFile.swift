import Foundation
import GRDB
import TestDevice

extension Device {
  /// Gives a path to a file with what the database has now, which goes away afterwards.
  func withKeptFile(_ body: (String) async throws -> Void) async throws {
    let path = NSTemporaryDirectory() + "/tern-kept-\(UUID().uuidString).sqlite"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try await database.writeWithoutTransaction { db in
      try db.execute(sql: "VACUUM INTO ?", arguments: [path])
    }
    try await body(path)
  }
}
