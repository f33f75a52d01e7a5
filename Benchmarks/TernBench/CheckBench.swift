#if Server
import Foundation
import GRDB
import Tern
import TernCore
import TernDatabase
import TernServer

/// What a server takes to check an offered snapshot of many rows against the one before it, beside
/// plainly reading both.
struct CheckBench {
  let folder: String
  let rows: Int

  private let space = SpaceName(stored: "bench")

  func run() throws {
    let snapshots = Snapshots(folder: folder, rows: rows)
    let replica = try snapshots.replica("from", 1)
    try snapshots.insert(into: replica)
    var generator = SystemRandomNumberGenerator()
    let store = try SQLiteSpaceStore(path: folder + "/server.tern", using: &generator)
    let service = SpaceService(store: store, clock: .system)
    // Held against the log.
    try push(replica, to: service)
    let first = try upload(replica, to: service)
    let log = try time { _ = try service.completeSnapshot(first.id, in: space) }
    // Held against the first.
    try replica.store.write { try $0.execute(sql: "UPDATE item SET a = 'changed' WHERE b = 0") }
    try push(replica, to: service)
    let second = try upload(replica, to: service)
    let check = try time { _ = try service.completeSnapshot(second.id, in: space) }
    let reading = try time {
      for snapshot in [first, second] {
        var parts = SnapshotParts { index in
          index < snapshot.parts
            ? try store.snapshotPart(index, of: snapshot.id, in: space, isWhole: true) : nil
        }
        while try parts.next() != nil {}
        precondition(parts.isAtEnd, "a snapshot that was taken lacks parts")
      }
    }
    print(String(format: "%.2f %.2f %.2f", log, check, reading))
  }

  private func push(_ replica: Replica, to service: SpaceService) throws {
    while true {
      let operations = try replica.store.operations(
        lackedBy: service.greet(space).heads, maximumBytes: 1 << 20)
      if operations.isEmpty { return }
      _ = try service.push(operations, to: space)
    }
  }

  /// Of all that the space has; all that is left to do is completing it.
  private func upload(_ replica: Replica, to service: SpaceService) throws
    -> (id: String, parts: Int)
  {
    var cursor = try service.greet(space).snapshot?.cursor
    var hasMore = true
    while hasMore {
      let page = try service.pull(from: space, after: cursor)
      (cursor, hasMore) = (page.cursor, page.hasMore)
    }
    let file = try PartFile()
    let summary = try replica.store.cutSnapshot { try file.append($0) }
    precondition(summary.rows == rows, "the snapshot lacks rows")
    let offer = SnapshotOffer(
      key: "bench", parts: summary.parts, cursor: cursor,
      heads: summary.heads(at: try service.greet(space).heads), isBase: false,
      schema: summary.schema)
    let upload = try service.beginSnapshot(offer, in: space)
    for index in upload.missing {
      guard let part = try file.part(index) else { preconditionFailure("a part is missing") }
      try service.putSnapshotPart(part, index: index, of: upload.id, in: space)
    }
    return (upload.id, summary.parts)
  }

  private func time(_ body: () throws -> Void) rethrows -> Double {
    let start = ContinuousClock.now
    try body()
    return (ContinuousClock.now - start) / .seconds(1)
  }
}
#endif
