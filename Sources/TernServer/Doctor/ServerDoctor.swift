#if Server
import Foundation
import GRDB
import TernCore
import TernDatabase

/// Looks through a server's data file for what is stored twice or follows from something else.
///
/// Behind SQLite's own checks, as every table is `STRICT`: what is whole by them has its declared
/// types. In memory are one operation or one part of a snapshot, and the heads of one space.
package struct ServerDoctor {
  private let db: Database
  private let findings: Findings
  private let format: Int32
  /// By table.
  private let columns: [String: Set<[String]>]

  /// What looks at a server's data, or `nil` for a database of another kind.
  package static func look(at db: Database) throws -> ((Findings) throws -> Void)? {
    guard try Int32.fetchOne(db, sql: "PRAGMA application_id") == ServerFile.applicationID else {
      return nil
    }
    let format = try Int32.fetchOne(db, sql: "PRAGMA user_version") ?? 0
    return {
      try ServerDoctor(db: db, findings: $0, format: format, columns: columns(db)).run()
    }
  }

  /// Looks through a copy of a store's spaces, in tables of today's format.
  init(copy db: Database, findings: Findings) throws {
    self.init(
      db: db, findings: findings, format: ServerFile.formatVersion, columns: try Self.columns(db))
  }

  private init(
    db: Database, findings: Findings, format: Int32, columns: [String: Set<[String]>]
  ) {
    (self.db, self.findings, self.format, self.columns) = (db, findings, format, columns)
  }

  private func run() throws {
    // What SQLite can't vouch for is not looked at.
    guard findings.counts[.integrity] == nil, try checkFormat(), try checkTables() else { return }
    let epochs = try String.fetchAll(db, sql: "SELECT epoch FROM store LIMIT 2")
    try checkSpaces(epoch: Self.checkEpochs(epochs, findings))
  }

  /// Looks through the spaces and their tokens.
  ///
  /// - Parameter epoch: the store's, where it can be one.
  func checkSpaces(epoch: String?) throws {
    try checkTokens()
    let places =
      switch format {
      case ..<2: "0, 0, 0, NULL, 0"
      case ..<6: "trimmed, emptied, emptied, NULL, 0"
      case 6, 7: "trimmed, emptied, released, NULL, 0"
      default: "trimmed, emptied, released, epoch, phase"
      }
    let rows = try Row.fetchCursor(
      db, sql: "SELECT id, name, position, \(places) FROM space ORDER BY name")
    while let row = try rows.next() {
      let space = SpacePlaces(row, epoch: epoch)
      if format >= 5, RemovedSpace.has(name: space.name) {
        try findings.add(.spaceRemoved, "what a removed space held is being removed")
      } else {
        try check(space)
      }
    }
    findings.space = nil
  }

  private func check(_ space: SpacePlaces) throws {
    findings.space = space.name
    let before = findings.brokenCount
    // What it throws is that it is no name.
    if (try? SpaceName(space.name, limits: .withoutNameLimit)) == nil {
      try findings.add(.space, "the space's name is none")
    }
    // Everything behind this computes with them.
    guard try !hasForeignNumbers(space) else { return }
    if let own = space.ownEpoch, !Self.isEpoch(own) {
      try findings.add(.epoch, "the space's epoch is none")
    }
    if let what = space.phase?.remark { try findings.add(.spaceMoving, what) }
    // Of one that is being copied here nothing is whole, and nobody is given anything.
    if space.phase == .arriving { return }
    let order = [0, space.emptied, space.released, space.trimmed, space.position]
    guard zip(order, order.dropFirst()).allSatisfy(<=) else {
      return try findings.add(
        .space,
        "it is emptied up to \(space.emptied), counted up to \(space.released), trimmed up to "
          + "\(space.trimmed), and ends at \(space.position)")
    }
    var operations = try OperationDoctor(db, space, findings)
    let heads = try operations.run()
    guard format >= 2 else { return }
    try SnapshotDoctor(db, space, findings, heads).run()
    try HorizonDoctor(db, space, findings).run(format: format)
    // What is lost or left is not in the count either.
    guard format >= 5, findings.brokenCount == before else { return }
    try checkBytes(space, format >= 6 ? ServerSchema.storedBytes : ServerSchema.allBytes)
    if format >= 6 { try checkBytes(space, ServerSchema.keptBytes, column: "kept_bytes") }
    if format >= 6 { try AuthorDoctor(db, space, findings).run() }
    guard let heads else { return }
    try findings.withTemporaryFile(for: .snapshotReplay) {
      try OfferDoctor(db, space, findings, heads).run()
    }
  }

  /// Whether a number of the space is none that a server writes.
  private func hasForeignNumbers(_ space: SpacePlaces) throws -> Bool {
    var isFound = false
    for (table, column, number) in StoredNumber.columns
    where columns[table]?.contains(where: { $0[0] == column }) ?? false {
      let owner =
        switch table {
        case "space": "id = ?"
        case "snapshot_part": "snapshot IN (SELECT id FROM snapshot WHERE space = ?)"
        default: "space = ?"
        }
      let values = try Int64.fetchCursor(
        db, sql: "SELECT \(column) FROM \(table) WHERE \(owner) AND \(column) NOT BETWEEN ? AND ?",
        arguments: [space.id, number.range.lowerBound, number.range.upperBound])
      while let value = try values.next() {
        isFound = true
        try findings.add(
          .number, "the \(number.rawValue) in its column \(column) is \(value), out of range",
          at: .init(table: table))
      }
    }
    return isFound
  }

  private func checkBytes(_ space: SpacePlaces, _ sum: String, column: String = "bytes") throws {
    let row = try Row.fetchOne(
      db, sql: "SELECT \(column), \(sum) FROM space WHERE id = ?", arguments: [space.id])
    guard let row, row[0] as Int64 != row[1] as Int64 else { return }
    try findings.add(
      .spaceBytes,
      "its \(column) says \(row[0] as Int64), and it stores \(row[1] as Int64) of them")
  }

  // MARK: - The store

  private func checkFormat() throws -> Bool {
    if format > ServerFile.formatVersion {
      try findings.add(.newerFormat, "the server's data has format \(format)")
    } else if format < 1 || format == ServerFile.unreadableVersion {
      try findings.add(.serverFormat, "the server's data has format \(format), which is not read")
    } else {
      return true
    }
    return false
  }

  private func checkTables() throws -> Bool {
    let expected = try DatabaseQueue().write { db in
      try ServerSchema.createTables(db, format: format)
      return try Self.columns(db)
    }
    var isWhole = true
    for (table, expected) in expected.sorted(by: { $0.key < $1.key })
    where columns[table] != expected {
      isWhole = false
      try findings.add(
        .serverTable, "the table is gone or has other columns", at: .init(table: table))
    }
    return isWhole
  }

  /// Of every table that holds a column to its type.
  private static func columns(_ db: Database) throws -> [String: Set<[String]>] {
    let rows = try Row.fetchAll(
      db,
      sql: """
        SELECT t.name, c.name, c.type, c."notnull", c.pk
        FROM pragma_table_list AS t, pragma_table_info(t.name) AS c
        WHERE t.schema = 'main' AND t.strict
        """)
    return rows.reduce(into: [:]) { tables, row in
      let column: [String] = [row[1], row[2], "\(row[3] as Int)", "\(row[4] as Int)"]
      tables[row[0], default: []].insert(column)
    }
  }

  /// Returns the store's epoch, where it can be one.
  static func checkEpochs(_ epochs: [String], _ findings: Findings) throws -> String? {
    if epochs.count == 1, isEpoch(epochs[0]) { return epochs[0] }
    try findings.add(.epoch, "the server's data has no epoch, or more than one")
    return nil
  }

  private static func isEpoch(_ text: String) -> Bool {
    text.count == 32 && text.allSatisfy(Set("0123456789abcdef").contains)
  }

  /// That their spaces are there SQLite has said.
  private func checkTokens() throws {
    let rows = try Row.fetchCursor(
      db, sql: "SELECT digest FROM token WHERE length(digest) <> 32")
    while let row = try rows.next() {
      let token = TokenDigest(stored: Array(row[0] as Data))
      try findings.add(.token, "the token can open nothing", at: .init(name: "token \(token)"))
    }
  }
}

extension Findings {
  /// Those that are no remarks.
  fileprivate var brokenCount: Int {
    counts.reduce(0) { $0 + ($1.key.isRemark ? 0 : $1.value) }
  }
}

extension SpacePhase {
  /// What is to be said of a space that is on its way; `nil` where it is not.
  fileprivate var remark: String? {
    switch self {
    case .served: nil
    case .leaving: "it is being copied to another store, and is served here until it is frozen"
    case .frozen: "it takes nothing new until its move to another store is finished"
    case .moved: "it was moved to another store, and is not served here"
    case .arriving: "it is being moved here, and is not served yet"
    }
  }
}

extension ServerLimits {
  /// A store has names that were accepted under other limits.
  fileprivate static var withoutNameLimit: ServerLimits {
    var limits = ServerLimits()
    limits.spaceNameBytes = .max
    return limits
  }
}

/// A space's head row, as it stands there: nothing is known of its numbers.
struct SpacePlaces {
  let id: Int64
  let name: String
  let position: Int64
  let trimmed: Int64
  let emptied: Int64
  let released: Int64
  /// Where it came from another store.
  let ownEpoch: String?
  /// Its own, or the store's; `nil` where that is not known.
  let epoch: String?
  /// `nil` for a number that is none.
  let phase: SpacePhase?

  /// - Parameter epoch: the store's.
  fileprivate init(_ row: Row, epoch: String?) {
    (id, name) = (row[0], row[1])
    (position, trimmed, emptied, released) = (row[2], row[3], row[4], row[5])
    ownEpoch = row[6]
    self.epoch = row[6] ?? epoch
    phase = SpacePhase(rawValue: row[7])
  }

  /// Whether a cursor is that of a position. Of one that is not there, or under an epoch that is
  /// not known, it can be; that is told elsewhere.
  func owns(_ cursor: RemoteCursor, at position: Int64, _ db: Database) throws -> Bool {
    guard (0...self.position).contains(position) else { return false }
    let place = UInt64(position)
    let chain = try ChainDigest.fetch(db, space: id, at: place)
    guard let epoch, position == 0 || chain != nil else { return true }
    return cursor == SpaceCursor(epoch: epoch, position: place, chain: chain).cursor
  }
}
#endif
