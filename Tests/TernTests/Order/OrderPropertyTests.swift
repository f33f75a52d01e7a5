import GRDB
import Synchronization
import Tern
import TernTesting
import TestDevice
import Testing

/// Devices with one list, whose moves a seed decides.
private struct ListDevices {
  var generator: SeededGenerator
  let devices: [Device]
  private let count: Int

  init(seed: UInt64, devices deviceCount: Int, rows: Int) throws {
    generator = SeededGenerator(seed: seed)
    count = rows
    let tails = (0..<deviceCount).map { SeededGenerator(seed: seed &* 31 &+ UInt64($0)) }
    devices = try tails.enumerated().map { index, tail in
      let source = TailSource(tail)
      return try Device(index + 1, random: { source.next() })
    }
    try devices[0].database.write { [devices] db in
      for row in 0..<rows {
        let key = try devices[0].replica.orderKey("t", at: .last, in: db)
        try db.execute(sql: "INSERT INTO t VALUES (?, ?)", arguments: [row, key.text])
      }
    }
    try sync()
  }

  func sync() throws {
    for _ in 0..<2 {
      for device in devices {
        for other in devices where other.replica !== device.replica { try device.pull(from: other) }
      }
    }
  }

  func order(_ device: Int) throws -> [Int] {
    try devices[device].database.read { try Int.fetchAll($0, sql: "SELECT id FROM t ORDER BY p") }
  }

  /// - Returns: how many rows were written.
  func move(_ row: Int, on device: Int, to place: OrderPlace) throws -> Int {
    try devices[device].database.write { db in
      let before = db.totalChangesCount
      _ = try devices[device].replica.move("t", key: [.integer(Int64(row))], to: place, in: db)
      // A trigger notes each.
      return (db.totalChangesCount - before) / 2
    }
  }

  func requireAgreement() throws {
    for device in devices.dropFirst() {
      #expect(try device.store.canonicalState() == devices[0].store.canonicalState())
      #expect(try device.exactly("t") == devices[0].exactly("t"))
    }
    for index in devices.indices { #expect(try Set(order(index)).count == count) }
    let positions = try devices[0].column("SELECT p FROM t")
    #expect(Set(positions).count == count)
    #expect(positions.allSatisfy { $0.flatMap { OrderKey($0) } != nil })
  }
}

private final class TailSource: Sendable {
  private let generator: Mutex<SeededGenerator>
  init(_ generator: SeededGenerator) { self.generator = Mutex(generator) }
  func next() -> UInt64 { generator.withLock { $0.next() } }
}

extension Device {
  fileprivate init(_ id: Int, random: @escaping @Sendable () -> UInt64) throws {
    let database = try DatabaseQueue()
    try database.write {
      try $0.execute(
        sql: """
          CREATE TABLE t (id INTEGER NOT NULL, p TEXT, PRIMARY KEY (id)) WITHOUT ROWID;
          CREATE INDEX t_p ON t (p);
          """)
    }
    try self.init(
      database, SyncSchema(version: 1, tables: [SyncTable("t", merge: ["p": .order])]),
      id: UInt64(id), random: random)
  }
}

@Suite("Order: one list on devices that move rows at random")
struct OrderPropertyTests {
  /// What a user saw: the row went right behind another one.
  private struct Move {
    let row: Int
    let anchor: Int
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `rows that nobody else moves stand where their mover put them (INV-07)`(
    _ seed: UInt64
  ) throws {
    var world = try ListDevices(seed: seed, devices: 3, rows: 12)
    for _ in 0..<4 {
      let before = try world.order(0)
      var rows = before.shuffled(using: &world.generator)
      let anchors = Array(rows.suffix(6))
      var moves: [Move] = []
      for device in 0..<3 {
        for _ in 0..<2 {
          let move = Move(
            row: rows.removeFirst(), anchor: anchors.randomElement(using: &world.generator)!)
          #expect(
            try world.move(
              move.row, on: device, to: .after([.integer(Int64(move.anchor))])) == 1)
          moves.append(move)
        }
      }
      try world.sync()
      try world.requireAgreement()
      let after = try world.order(0)
      let moved = Set(moves.map(\.row))
      // Rows that nobody moved stand as they stood, and each other one behind its anchor and before
      // the next of them.
      #expect(after.filter { !moved.contains($0) } == before.filter { !moved.contains($0) })
      for move in moves {
        let start = try #require(after.firstIndex(of: move.anchor))
        let group = after[(start + 1)...].prefix { moved.contains($0) }
        #expect(group.contains(move.row))
      }
    }
  }

  @Test(arguments: 1...3 as ClosedRange<UInt64>)
  func `devices that make room at one spot at the same time agree, and no key is there twice`(
    _ seed: UInt64
  ) throws {
    var world = try ListDevices(seed: seed, devices: 2, rows: 40)
    var madeRoom = 0
    for _ in 0..<3 {
      for device in 0..<2 {
        for move in 0..<100 {
          let order = try world.order(device)
          let row = move.isMultiple(of: 2) ? order[0] : order[39]
          let written = try world.move(row, on: device, to: .after([.integer(Int64(order[20]))]))
          if written > 1 { madeRoom += 1 }
          if Int.random(in: 0..<9, using: &world.generator) == 0 {
            let other = order[Int.random(in: 1..<39, using: &world.generator)]
            _ = try world.move(other, on: device, to: .before([.integer(Int64(row))]))
          }
        }
      }
      try world.sync()
      try world.requireAgreement()
    }
    #expect(madeRoom > 0)
  }

  @Test(arguments: ["random", "front", "back", "middle", "zigzag"])
  func `keys in a table stay under 64 bytes`(_ pattern: String) throws {
    let world = try ListDevices(seed: 1, devices: 1, rows: 60)
    var generator = SeededGenerator(seed: 9)
    var written = 0
    for move in 0..<600 {
      let order = try world.order(0)
      let row = pattern == "back" || move.isMultiple(of: 2) ? order[0] : order[59]
      let place: OrderPlace =
        switch pattern {
        case "random":
          .after([.integer(Int64(order.randomElement(using: &generator)!))])
        case "front": .first
        case "back": .last
        case "middle": .after([.integer(Int64(order[30]))])
        default: .before([.integer(Int64(order[move.isMultiple(of: 2) ? 31 : 30]))])
        }
      if place == .after([.integer(Int64(row))]) { continue }
      written += try world.move(row, on: 0, to: place)
    }
    let longest = try world.devices[0].database.read {
      try Int.fetchOne($0, sql: "SELECT max(length(p)) FROM t")!
    }
    #expect(longest < 64)
    #expect(written < 3000)
    try world.requireAgreement()
  }
}
