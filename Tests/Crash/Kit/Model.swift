import GRDB

/// What every device's tables must hold once each has done its writes up to a number.
struct Model {
  struct Entry: Hashable {
    var number: Int
    var body: String
  }

  struct Tally: Hashable {
    var count = 0
    var highest = Int.min
    /// Each device's last text: one of them has won.
    var texts: [String: String] = [:]
  }

  private(set) var entries: [String: Entry] = [:]
  private(set) var tallies: [String: Tally] = [:]

  /// - Parameter done: the number of each device's last write.
  init(done: [String: Int], seed: UInt64) {
    for (device, last) in done where last > 0 {
      for number in 1...last { apply(Write(number, device: device, seed: seed), of: device) }
    }
  }

  private mutating func apply(_ write: Write, of device: String) {
    for change in write.changes {
      switch change {
      case .insert(let entry, let body):
        entries[entry] = Entry(number: write.number, body: body)
      case .update(let entry, let body):
        if entries[entry] != nil { entries[entry] = Entry(number: write.number, body: body) }
      case .delete(let entry):
        entries[entry] = nil
      case .count(let tally, let difference, let highest, let text):
        tallies[tally, default: Tally()].count += difference
        tallies[tally]!.highest = max(tallies[tally]!.highest, highest)
        tallies[tally]!.texts[device] = text
      }
    }
  }

  /// What differs between a database and what it must hold.
  func violations(in db: Database) throws -> [String] {
    try entryViolations(db) + tallyViolations(db)
  }

  private func entryViolations(_ db: Database) throws -> [String] {
    var found: [String: Entry] = [:]
    for row in try Row.fetchAll(db, sql: "SELECT id, number, body FROM entry") {
      found[row["id"]] = Entry(number: row["number"], body: row["body"])
    }
    return Set(found.keys).union(entries.keys).sorted().compactMap { id in
      guard found[id] != entries[id] else { return nil }
      guard let entry = found[id] else { return "entry \(id) is lost" }
      guard let expected = entries[id] else { return "entry \(id) was deleted and is there" }
      return "entry \(id) holds write \(entry.number), not \(expected.number)"
    }
  }

  private func tallyViolations(_ db: Database) throws -> [String] {
    var violations: [String] = []
    let rows = try Row.fetchAll(db, sql: "SELECT id, count, highest, text FROM tally")
    for row in rows {
      let (id, count, highest): (String, Int, Int) = (row["id"], row["count"], row["highest"])
      let expected = tallies[id] ?? Tally()
      if count != expected.count {
        violations.append("tally \(id) counts \(count), and its writes \(expected.count)")
      }
      if highest != expected.highest {
        violations.append("tally \(id) is at most \(highest), not \(expected.highest)")
      }
      let text: String = row["text"]
      if !expected.texts.values.contains(text) {
        violations.append("tally \(id) holds “\(text)”, which is no device's last text")
      }
    }
    if rows.count != tallies.count {
      violations.append("\(rows.count) tallies are there, not \(tallies.count)")
    }
    return violations
  }
}
