#if Server && Rehearsal
import GRDB
import Tern
import TernTesting

extension SimulatedDevice {
  /// Mostly behind a row that others may choose as well.
  func randomPlace(_ db: Database, besides key: String) throws -> OrderPlace {
    let others = try String.fetchAll(
      db, sql: "SELECT id FROM item WHERE id <> ? ORDER BY id", arguments: [key])
    guard let other = others.randomElement(using: &generator) else { return .last }
    switch Int.random(in: 0..<4, using: &generator) {
    case 0: return .first
    case 1: return .last
    case 2: return .before([.string(other)])
    default: return .after([.string(other)])
    }
  }

  /// Notes every position that `body` writes, those of neighbours that made room included.
  func placing(
    _ db: Database, _ draft: inout Intents.Draft, _ body: () throws -> Void
  ) throws {
    let before = try positions(db)
    try body()
    for (key, position) in try positions(db).sorted(by: { $0.key < $1.key })
    where before[key] != position {
      draft.wrote(key, ["pos": position])
    }
  }

  private func positions(_ db: Database) throws -> [String: String] {
    try Row.fetchAll(db, sql: "SELECT id, pos FROM item WHERE pos IS NOT NULL")
      .reduce(into: [:]) { $0[$1["id"] as String] = $1["pos"] as String }
  }
}
#endif
