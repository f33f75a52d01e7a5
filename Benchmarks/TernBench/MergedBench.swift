import Foundation
import GRDB
import Tern
import TernNetwork

/// How long it takes from a write on one device to its merge on another, which listens.
struct MergedBench {
  /// To whom the one pushes, and at whom the other listens.
  let (writer, reader): (URL, URL)
  /// A new one.
  let space: String
  let token: String
  let writes: Int

  private static let schema = SyncSchema(version: 1, tables: [SyncTable("entry")])

  /// Prints the milliseconds of the median, of one in a hundred, and of the longest.
  func run() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "tern-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    // Who repeats this has as many more.
    defer { try? FileManager.default.removeItem(at: folder) }
    let written = try await replica(folder.appending(path: "writer.sqlite"))
    let read = try await replica(folder.appending(path: "reader.sqlite"))
    let engines = [(written, writer), (read, reader)].map { replica, url in
      SyncEngine(
        replica, remote: HTTPRemote(url, space: space, token: { [token] in token }))
    }
    let merged = ValueObservation.tracking { db in
      try Int.fetchOne(db, sql: "SELECT max(number) FROM entry") ?? 0
    }.values(in: read.database)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for engine in engines { group.addTask { await engine.run() } }
      var seen = merged.makeAsyncIterator()
      var times: [Duration] = []
      // The first ones make connections.
      for number in 1...(writes + 5) {
        try await Task.sleep(for: .milliseconds(50))
        let began = ContinuousClock.now
        try await written.write { db in
          try db.execute(sql: "INSERT INTO entry VALUES (?, ?)", arguments: ["\(number)", number])
        }
        while let last = try await seen.next(), last < number {}
        if number > 5 { times.append(began.duration(to: .now)) }
      }
      group.cancelAll()
      times.sort()
      let shown = [times[writes / 2], times[writes * 99 / 100], times[writes - 1]]
      print(shown.map { String(format: "%.1f", $0 / .milliseconds(1)) }.joined(separator: " "))
    }
  }

  private func replica(_ file: URL) async throws -> Replica {
    let database = try DatabasePool(path: file.path)
    try await database.write { db in
      try db.execute(
        sql: "CREATE TABLE entry (id TEXT NOT NULL PRIMARY KEY, number INTEGER NOT NULL)")
    }
    return try await Replica.open(database, schema: Self.schema)
  }
}
