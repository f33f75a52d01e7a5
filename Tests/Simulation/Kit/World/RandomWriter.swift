#if Server && Rehearsal
import GRDB
import Tern
import TernTesting

/// One random write of a user, in plain SQL that any program could run, and what it means.
struct RandomWriter {
  let device: SimulatedDevice
  /// Of the app's schema.
  let version: Int
  var generator: SeededGenerator
  private(set) var draft = Intents.Draft()
  /// Columns with numbers that the statement sets, whatever was in them.
  private var setColumns: Set<String> = []

  init(device: SimulatedDevice, version: Int, generator: SeededGenerator) {
    (self.device, self.version, self.generator) = (device, version, generator)
  }

  mutating func write(_ db: Database) throws {
    let key = "k\(Int.random(in: 0..<device.script.keys, using: &generator))"
    device.tokens += 1
    let token = "\(device.index).\(device.tokens)"
    let number = Int64.random(in: -50...50, using: &generator)
    let place = generator.happens(0.3) ? nil : Int.random(in: 0..<6, using: &generator)
    let old = try shown(db, key)
    try write(db, key, token, number, place)
    draft.changed("item/\(key)", from: old, to: try shown(db, key), setting: setColumns)
  }

  private mutating func write(
    _ db: Database, _ key: String, _ token: String, _ number: Int64, _ place: Int?
  ) throws {
    let letter = Intents.Piece.letter(device.index, device.tokens)
    switch Int.random(in: 0..<(version == 1 ? 19 : 22), using: &generator) {
    case 0...1: try replace(db, key, token, number, place)
    case 2...3: try set(db, "a", of: key, to: token)
    case 4...5: try set(db, "b", of: key, to: token)
    case 6...7:
      try db.run("UPDATE item SET n = n + ? WHERE id = ?", arguments: [number, key])
      if db.changesCount > 0 { draft.wrote("item/\(key)", [:], adding: number) }
    case 8:
      setColumns = ["hi", "lo"]
      try db.run("UPDATE item SET hi = ?, lo = ? WHERE id = ?", arguments: [number, number, key])
    case 9:
      try db.run(
        "UPDATE item SET tags = json_insert(tags, '$[#]', ?) WHERE id = ?",
        arguments: [
          number < 0 ? Intents.Piece.element(device.index, device.tokens) : number % 4, key,
        ])
    case 10:
      // One that others add too, or the last.
      try db.run(
        """
        UPDATE item SET tags = (
          SELECT json_group_array(value) FROM json_each(tags)
          WHERE value <> ifnull(?, (SELECT max(value) FROM json_each(tags))))
        WHERE id = ?
        """, arguments: [number < 0 ? nil : number % 4, key])
    case 11:
      setColumns = ["u"]
      let rivals = try rivals(db, key, place)
      try db.run("UPDATE OR REPLACE item SET u = ? WHERE id = ?", arguments: [place, key])
      if db.changesCount > 0 { for rival in rivals { draft.deleted(rival.key, rival.name) } }
    case 12:
      setColumns = ["u"]
      try db.run("UPDATE OR IGNORE item SET u = ? WHERE id = ?", arguments: [place, key])
    case 13: try move(db, key)
    case 14: try editPlainly(db, key, "<\(letter)\(token)>")
    case 15...16: try editDraft(db, key, "[\(letter)\(token)]")
    case 17:
      let old = try shown(db, key)
      try db.run("DELETE FROM item WHERE id = ?", arguments: [key])
      if db.changesCount > 0 { draft.deleted("item/\(key)", old?.name) }
    case 18: try writePair(db, token)
    case 19: try set(db, "c", of: key, to: token)
    default: try count(db, key, number)
    }
  }

  private mutating func set(_ db: Database, _ column: String, of key: String, to token: String)
    throws
  {
    try db.run("UPDATE item SET \(column) = ? WHERE id = ?", arguments: [token, key])
    if db.changesCount > 0 { draft.wrote("item/\(key)", [column: token]) }
  }

  private mutating func replace(
    _ db: Database, _ key: String, _ token: String, _ number: Int64, _ place: Int?
  ) throws {
    for rival in try rivals(db, key, place) { draft.deleted(rival.key, rival.name) }
    let old = try db.integer("SELECT n FROM item WHERE id = ?", arguments: [key])
    let spot = try randomPlace(db, besides: key)
    let letter = Intents.Piece.letter(device.index, device.tokens)
    setColumns = ["hi", "lo", "u"]
    let body = generator.happens(0.5) ? "" : "(\(letter)\(token))"
    try placing(db) { [device] in
      let position = try device.replica.orderKey("item", at: spot, in: db)
      try db.run(
        """
        INSERT OR REPLACE INTO item (id, a, b, n, hi, lo, tags, u, pos, body)
        VALUES (?, ?, ?, ?, ?, ?, json_array(abs(?)), ?, ?, ?)
        """,
        arguments: [
          key, token + "a", token + "b", number, number, number, number % 4, place, position.text,
          body,
        ])
    }
    draft.cleared("item/\(key)", "c")
    draft.wrote(
      "item/\(key)", ["a": token + "a", "b": token + "b"], adding: number - (old ?? 0))
  }

  /// The rows that a REPLACE removes to give a key its place.
  private func rivals(_ db: Database, _ key: String, _ place: Int?) throws
    -> [(key: String, name: String?)]
  {
    try db.strings("SELECT id FROM item WHERE u = ? AND id <> ?", arguments: [place, key]).map {
      ("item/\($0)", try shown(db, $0)?.name)
    }
  }

  private func shown(_ db: Database, _ key: String) throws -> Intents.Shown? {
    let select = try db.cachedStatement(
      sql: "SELECT a, body, tags, u, hi, lo FROM item WHERE id = ?")
    guard let row = try Row.fetchOne(select, arguments: [key]) else { return nil }
    return Intents.Shown(
      name: row[0],
      numbers: ["u", "hi", "lo"].reduce(into: [:]) { numbers, column in
        numbers[column] = (row[column] as Int64?).map(SQLiteValue.integer) ?? .null
      },
      pieces: Intents.Piece.letters(of: row[1]).union(Intents.Piece.elements(of: row[2])))
  }

  /// Both rows in one statement, with one text (INV-06).
  private mutating func writePair(_ db: Database, _ token: String) throws {
    try db.run(
      """
      INSERT INTO \(SimulatedFile.pair(in: version)) VALUES ('left', ?1), ('right', ?1)
      ON CONFLICT DO UPDATE SET x = excluded.x
      """, arguments: [token])
    draft.wrote("pair/left", ["x": token])
    draft.wrote("pair/right", ["x": token])
  }

  private mutating func count(_ db: Database, _ key: String, _ number: Int64) throws {
    try db.run(
      "INSERT INTO tally VALUES (?1, ?2) ON CONFLICT DO UPDATE SET m = m + ?2",
      arguments: [key, number])
    draft.wrote("tally/\(key)", [:], adding: number)
  }

  // MARK: - Texts

  /// Inserts a token, or takes some letters, in one statement.
  private mutating func editPlainly(_ db: Database, _ key: String, _ token: String) throws {
    let place = Int.random(in: 0...60, using: &generator)
    let (inserted, removed) = generator.happens(0.7) ? (token, 0) : ("", 7)
    try db.run(
      """
      UPDATE item SET body = substr(body, 1, ?1) || ?2 || substr(body, ?1 + ?3 + 1) WHERE id = ?4
      """, arguments: [place, inserted, removed, key])
  }

  /// Types at one place and takes something away at another.
  private mutating func editDraft(_ db: Database, _ key: String, _ token: String) throws {
    let replica = device.replica
    guard var text = try replica.draft("item", key: [.string(key)], column: "body", in: db)
    else { return }
    let place = Int.random(in: 0...text.count, using: &generator)
    for (index, letter) in token.enumerated() { text.insert(String(letter), at: place + index) }
    if generator.happens(0.4) {
      let start = Int.random(in: 0...text.count, using: &generator)
      text.remove(start..<min(text.count, start + 5))
    }
    _ = try replica.save(&text, in: db)
  }

  // MARK: - Order

  private mutating func move(_ db: Database, _ key: String) throws {
    guard try db.integer("SELECT 1 FROM item WHERE id = ?", arguments: [key]) != nil else { return }
    let spot = try randomPlace(db, besides: key)
    try placing(db) { [device] in
      try device.replica.move("item", key: [.string(key)], to: spot, in: db)
    }
  }

  /// Mostly behind a row that others may choose as well.
  private mutating func randomPlace(_ db: Database, besides key: String) throws -> OrderPlace {
    let others = try db.strings(
      "SELECT id FROM item WHERE id <> ? ORDER BY id", arguments: [key])
    guard let other = others.randomElement(using: &generator) else { return .last }
    switch Int.random(in: 0..<4, using: &generator) {
    case 0: return .first
    case 1: return .last
    case 2: return .before([.string(other)])
    default: return .after([.string(other)])
    }
  }

  /// Notes every position that `body` writes, those of neighbours that made room included.
  private mutating func placing(_ db: Database, _ body: () throws -> Void) throws {
    let before = try positions(db)
    try body()
    for (key, position) in try positions(db).sorted(by: { $0.key < $1.key })
    where before[key] != position {
      draft.wrote("item/\(key)", ["pos": position])
    }
  }

  private func positions(_ db: Database) throws -> [String: String] {
    try Row.fetchAll(
      db.cachedStatement(sql: "SELECT id, pos FROM item WHERE pos IS NOT NULL")
    ).reduce(into: [:]) { $0[$1["id"] as String] = $1["pos"] as String }
  }
}
#endif
