import SeededRandom
import TernCore
import TernTesting
import TestDevice
import Testing

@testable import Tern

@Suite("Settlement: the order in which rows that collide are walked")
struct WalkQueueTests {
  private func row(_ key: UInt8, at time: UInt64, by author: UInt32, _ sql: TableSQL) -> WaitingRow
  {
    let authors = Authors([ReplicaID(high: 0, low: 2), ReplicaID(high: 0, low: 1)])
    let state = RowState.inserted(
      life: 1, stamp: Stamp(time: HybridTime(rawValue: time), author: author), columnCount: 0)
    return WaitingRow(
      sql: sql, key: [key], content: [:],
      creation: Creation(state, key: [key], isVeiled: false, authors: authors))
  }

  @Test func `the earliest comes next, also of those that come while it goes on`() throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("t")])
    let device = try Device(schema, id: 1) {
      try $0.execute(sql: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY)")
    }
    let sql = try device.store.access.write { $0.sql[0] }
    for seed in 1...300 as ClosedRange<UInt64> {
      var generator = SeededGenerator(seed: seed)
      // Few times and authors, so that many are decided by the next criterion.
      var rows = (0..<UInt8.random(in: 1...20, using: &generator)).map { key in
        row(
          key, at: .random(in: 1...4, using: &generator), by: .random(in: 0...1, using: &generator),
          sql)
      }
      var queue = WalkQueue(rows.shuffled(using: &generator))
      var next = UInt8(rows.count)
      while let walked = queue.next() {
        let first = rows.min { $0.creation < $1.creation }
        #expect(walked.key == first?.key, "seed \(seed)")
        rows.removeAll { $0.key == walked.key }
        if next < 60, Int.random(in: 0..<3, using: &generator) == 0 {
          let added = row(
            next, at: .random(in: 1...6, using: &generator),
            by: .random(in: 0...1, using: &generator), sql)
          next += 1
          rows.append(added)
          queue.add(added)
        }
      }
      #expect(rows.isEmpty, "seed \(seed)")
    }
  }
}
