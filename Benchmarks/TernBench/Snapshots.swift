import Foundation
import GRDB
import Tern
import TernDatabase

/// A snapshot of many rows, each step in a process of its own, so that the process's highest memory
/// is that step's.
struct Snapshots {
  let folder: String
  let rows: Int

  private var parts: String { folder + "/parts" }

  enum Step: String, CaseIterable { case make, cut, killed, load, again }

  func run(_ step: Step) throws {
    let start = ContinuousClock.now
    switch step {
    case .make: try make()
    case .cut: try cut()
    case .killed: try load(dying: true)
    // The second finds every row as it is.
    case .load, .again: try load()
    }
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    print(
      "\(step.rawValue)\t\(String(format: "%.1f", seconds)) s\t\(try highestMemory() >> 10) MiB\t"
        + "\(try partsSize() >> 20) MiB of parts")
  }

  func replica(_ name: String, _ id: UInt64) throws -> Replica {
    let database = try DatabasePool(path: "\(folder)/\(name).sqlite")
    try database.write { try $0.execute(sql: BenchRow.table) }
    return try Replica.openBlocking(
      database, schema: SyncSchema(version: 1, tables: [SyncTable("item")]),
      makeID: { ReplicaID(high: 0, low: id) })
  }

  private func make() throws {
    try insert(into: replica("from", 1))
  }

  func insert(into replica: Replica) throws {
    for first in stride(from: 0, to: rows, by: 10_000) {
      try replica.database.write { db in
        try db.execute(
          sql: """
            WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)
            INSERT INTO item
            SELECT lower(hex(randomblob(16))), 'title number ' || i, i, i * 0.5, hex(randomblob(10))
            FROM n
            """, arguments: [first, min(first + 10_000, rows)])
      }
      try replica.store.seal()
    }
  }

  private func cut() throws {
    let replica = try replica("from", 1)
    let file = try PartFile(parts, key: "bench")
    let summary = try replica.store.cutSnapshot { try file.append($0) }
    precondition(summary.rows == rows, "the snapshot lacks rows")
  }

  /// - Parameter isDying: as from its middle on nothing of the process runs any more.
  private func load(dying isDying: Bool = false) throws {
    let replica = try replica("to", 2)
    let file = try PartFile(parts, key: "bench")
    let middle = isDying ? file.count / 2 : nil
    let summary = try replica.store.loadSnapshot(from: nil) { index in
      if index == middle {
        print(
          "\(Step.killed.rawValue)\tat part \(index) of \(file.count)\t\(try highestMemory() >> 10) MiB"
        )
        fflush(nil)
        kill(getpid(), SIGKILL)
      }
      return try file.part(index)
    }
    precondition(summary.rows == rows, "the snapshot lacks rows")
    let equal = try replica.database.writeWithoutTransaction { db in
      try db.execute(sql: "ATTACH ? AS origin", arguments: ["\(folder)/from.sqlite"])
      return try Int.fetchOne(
        db,
        sql: """
          SELECT count(*) FROM main.item AS i JOIN origin.item AS o ON o.id = i.id
          WHERE i.a IS o.a AND i.b IS o.b AND i.c IS o.c AND i.d IS o.d
          """)
    }
    precondition(equal == rows, "the table lacks rows, or has others")
  }

  private func partsSize() throws -> Int {
    let attributes = try? FileManager.default.attributesOfItem(atPath: parts)
    return attributes?[.size] as? Int ?? 0
  }

  /// In KiB: the most that was resident at once, on Linux.
  private func highestMemory() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
  }
}
