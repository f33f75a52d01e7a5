import Foundation
import GRDB

/// What is left after a round, as its database, its folder and the service have it.
struct ScanFacts: Sendable {
  struct Book: Hashable, FetchableRecord, Decodable, Sendable {
    var isbn: String
    var title: String
    var author: String?
    var coverURL: String?
    var format: String?
    var enrichment: String?
    var confidence: Double
    var timesScanned: Int
  }

  struct Scan: FetchableRecord, Decodable, Sendable {
    var timesLost: Int
    var warnings: Int
    var job: String?
    var reason: String?
  }

  var scans: [Scan]
  var books: [Book]
  var finds: Int
  /// Clean-ups by their state: one for each job at the service whose name was learned.
  var cleanUps: [String: Int]
  var deviceID: String?
  /// Of jobs and of the programs, which nobody needs any more.
  var leftFiles: [String]

  init(of device: ScanDevice) throws {
    self = try device.read { db in
      let states = try String.fetchAll(
        db, sql: "SELECT state FROM grdb_tern_jobs WHERE kind = 'scan.clean-up'")
      return try ScanFacts(
        scans: Scan.fetchAll(
          db,
          sql: """
            SELECT timesLost, warnings, state AS job, reason
            FROM scan LEFT JOIN grdb_tern_jobs AS jobs ON jobs.id = scan.id ORDER BY scan.id
            """),
        books: Book.fetchAll(db, sql: "SELECT * FROM book ORDER BY isbn"),
        finds: Int.fetchOne(db, sql: "SELECT count(*) FROM find") ?? 0,
        cleanUps: Dictionary(states.map { ($0, 1) }, uniquingKeysWith: +),
        deviceID: String.fetchOne(db, sql: "SELECT id FROM device"),
        leftFiles: [])
    }
    leftFiles = Self.files(in: device.files) + Self.files(in: device.temporary)
  }

  private init(
    scans: [Scan], books: [Book], finds: Int, cleanUps: [String: Int], deviceID: String?,
    leftFiles: [String]
  ) {
    (self.scans, self.books, self.finds) = (scans, books, finds)
    (self.cleanUps, self.deviceID, self.leftFiles) = (cleanUps, deviceID, leftFiles)
  }

  /// All but what a process locks while it lives.
  private static func files(in folder: String) -> [String] {
    let manager = FileManager.default
    return (manager.subpaths(atPath: folder) ?? []).filter { path in
      var isFolder: ObjCBool = false
      return manager.fileExists(atPath: "\(folder)/\(path)", isDirectory: &isFolder)
        && !isFolder.boolValue && !path.hasSuffix("lock")
    }.map { "\(folder)/\($0)" }
  }
}
