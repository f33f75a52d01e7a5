import GRDB
import Tern
import TernTesting
import TestDevice
import Testing

private let creation = """
  CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a, n INTEGER NOT NULL DEFAULT 0, high,
    tags TEXT NOT NULL DEFAULT '[]')
  """

private func schema(_ rule: DeleteRule) -> SyncSchema {
  SyncSchema(
    version: 1,
    tables: [
      SyncTable("t", merge: ["n": .counter, "high": .max, "tags": .set], deletes: rule)
    ])
}

/// Devices that write at random, and what each had merged when it wrote.
private final class World {
  let devices: [Device]
  /// By author and sequence.
  var known: [ReplicaID: [UInt64: VersionVector]] = [:]
  var generator: SeededGenerator

  init(_ rule: DeleteRule, seed: UInt64) throws {
    generator = SeededGenerator(seed: seed)
    devices = try (1...3).map { id in
      try Device(schema(rule), id: UInt64(id)) { try $0.execute(sql: creation) }
    }
  }

  func run(steps: Int) throws {
    for _ in 0..<steps {
      let device = devices.randomElement(using: &generator)!
      if Int.random(in: 0..<4, using: &generator) == 0 {
        try device.pull(from: devices.randomElement(using: &generator)!)
      } else {
        try write(device)
      }
    }
  }

  private func write(_ device: Device) throws {
    let key = Int.random(in: 1...2, using: &generator)
    let value = Int.random(in: 1...9, using: &generator)
    let sql = [
      "INSERT OR IGNORE INTO t VALUES ('\(key)', \(value), \(value), \(value), '[\(value)]')",
      "UPDATE t SET a = \(value) WHERE id = '\(key)'",
      "UPDATE t SET n = n + \(value) WHERE id = '\(key)'",
      "UPDATE t SET high = \(value) WHERE id = '\(key)'",
      "UPDATE t SET tags = json_insert(tags, '$[#]', \(value)) WHERE id = '\(key)'",
      "UPDATE t SET tags = '[\(value)]', a = -\(value) WHERE id = '\(key)'",
      "DELETE FROM t WHERE id = '\(key)' AND \(value) < 5",
    ].randomElement(using: &generator)!
    let before = try device.store.versionVector()
    try device.execute(sql)
    for sequence in try device.store.seal() {
      known[try device.store.replicaID(), default: [:]][sequence] = before
    }
  }

  func isConcurrent(_ left: (ReplicaID, UInt64), _ right: (ReplicaID, UInt64)) throws -> Bool {
    let (mine, others) = (
      try #require(known[left.0]?[left.1]), try #require(known[right.0]?[right.1])
    )
    return left.0 != right.0 && mine[right.0] < right.1 && others[left.0] < left.1
  }
}

@Suite("Explain: devices that write at random")
struct ExplainPropertyTests {
  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter], 1...6)
  func `an explanation agrees with the state, the log and who had seen whom`(
    _ rule: DeleteRule, _ seed: Int
  ) async throws {
    let world = try World(rule, seed: UInt64(seed))
    try world.run(steps: 150)
    var logged = 0
    for device in world.devices {
      for row in try device.store.canonicalState() {
        let told = try await device.replica.explain("t", key: row.key, limit: 10_000)
        try expect(told, row, device)
        for column in told.columns { try expect(column, of: told, world) }
        let page = try await device.replica.history("t", key: row.key, limit: 10_000)
        logged += page.changes.count
        let ended = row.life & 1 == 1 ? row.life : row.life - 1
        for column in told.columns {
          let written = page.changes.filter { change in
            change.generation == ended && change.columns.contains { $0.name == column.name }
          }
          #expect(column.writes.map(\.stamp) == written.map(\.stamp).reversed())
        }
      }
    }
    #expect(logged > 100)
  }

  private func expect(_ told: RowExplanation, _ row: CanonicalRow, _ device: Device) throws {
    #expect(told.generation == row.life && told.key == row.key)
    #expect((told.standing == .shown) == row.isShown)
    if row.life & 1 == 0 {
      let own = try device.store.replicaID()
      let author = try #require(row.author)
      let stamp = WriteStamp(author: author, time: row.time, isOwn: author == own)
      #expect(told.standing == .deleted(stamp))
    }
    for (name, cell) in row.cells {
      let column = try told.column(name)
      #expect(column.value == cell.value)
      #expect(column.stamp?.time == cell.time && column.stamp?.author == cell.author)
    }
    if row.isShown {
      let values = "quote(a) || quote(n) || quote(high) || quote(tags)"
      #expect(
        try device.column("SELECT \(values) FROM t WHERE id = \(row.key[0])")
          == [told.columns.map { $0.value?.description ?? "" }.joined()])
    }
  }

  /// A row that stands is made of exactly the writes that are said to stand or count.
  private func expect(
    _ column: RowExplanation.Column, of row: RowExplanation, _ world: World
  ) throws {
    let standing =
      row.standing == .shown
      ? column.writes.first { $0.stamp == column.stamp }.map { ($0.stamp, $0.sequence) }
      : row.deletes.first { $0.outcome == .stands }.map { ($0.stamp, $0.sequence) }
    for write in column.writes {
      guard let (stamp, sequence) = standing else { continue }
      #expect(
        try write.isConcurrent
          == world.isConcurrent((write.stamp.author, write.sequence), (stamp.author, sequence)))
    }
    guard row.standing == .shown else {
      #expect(column.writes.map(\.outcome).filter { $0 != .beaten(.deleted) }.isEmpty)
      return
    }
    switch column.rule {
    case .counter:
      let sum = column.writes.reduce(Int128(0)) { sum, write in
        if case .difference(let number) = write.content { sum + number } else { sum }
      }
      #expect(column.value == .integer(Int64(sum)))
    case .set:
      for element in column.elements {
        #expect(!element.addedBy.isEmpty)
        for stamp in element.addedBy {
          let write = try #require(column.writes.first { $0.stamp == stamp })
          guard case .set(let added, _) = write.content else { continue }
          #expect(added.contains(element.value) && write.outcome == .counts)
        }
      }
    default:
      let standing = column.writes.filter { $0.outcome == .stands }
      #expect(standing.map(\.content) == [.value(try #require(column.value))])
      #expect(standing.map(\.stamp) == [column.stamp])
    }
  }
}
