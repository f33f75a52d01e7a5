import GRDB
import TernTesting

/// One numbered transaction of a device, the same whenever it is asked for.
package struct Write: Sendable {
  package enum Change: Hashable, Sendable {
    case insert(entry: String, body: String)
    /// Of an own entry, which may be gone.
    case update(entry: String, body: String)
    case delete(entry: String)
    /// Of a row that all devices share.
    case count(tally: String, by: Int, highest: Int, text: String)
  }

  package let number: Int
  package let changes: [Change]
  /// Through `Replica.write`, and not by the app's own transaction.
  package let isSealing: Bool

  static let tallies = 4

  package init(_ number: Int, device: String, seed: UInt64) {
    let salt = device.utf8.reduce(seed) { $0 &* 131 &+ UInt64($1) }
    var generator = SeededGenerator(seed: salt &* 1_000_003 &+ UInt64(number))
    self.number = number
    isSealing = generator.happens(0.3)

    let body = "\(device)\(number)"
    let new = Change.insert(entry: "\(device)-\(number)", body: body)
    let recent = max(1, number - 12)...max(1, number - 1)
    let old = "\(device)-\(Int.random(in: recent, using: &generator))"
    let tally = Change.count(
      tally: "t\(Int.random(in: 0..<Self.tallies, using: &generator))",
      by: Int.random(in: -3...9, using: &generator),
      highest: Int.random(in: 0...1000, using: &generator), text: body)
    changes =
      switch Int.random(in: 0..<8, using: &generator) {
      case 0...2: [new]
      case 3: [new, .insert(entry: "\(device)-\(number)-more", body: body), tally]
      case 4: [.update(entry: old, body: body)]
      case 5: [.delete(entry: old), tally]
      default: [tally]
      }
  }

  package func perform(_ db: Database) throws {
    for change in changes {
      switch change {
      case .insert(let entry, let body):
        try db.execute(
          sql: "INSERT INTO entry (id, number, body) VALUES (?, ?, ?)",
          arguments: [entry, number, body])
      case .update(let entry, let body):
        try db.execute(
          sql: "UPDATE entry SET number = ?, body = ? WHERE id = ?",
          arguments: [number, body, entry])
      case .delete(let entry):
        try db.execute(sql: "DELETE FROM entry WHERE id = ?", arguments: [entry])
      case .count(let tally, let difference, let highest, let text):
        // Not `highest = excluded.highest`: what the app itself overwrites before a seal is gone.
        try db.execute(
          sql: """
            INSERT INTO tally (id, count, highest, text) VALUES (?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET
              count = count + excluded.count, highest = max(highest, excluded.highest),
              text = excluded.text
            """, arguments: [tally, difference, highest, text])
      }
    }
    try db.execute(sql: "UPDATE progress SET done = ?", arguments: [number])
  }
}
