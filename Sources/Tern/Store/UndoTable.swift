import TernCore
import TernDatabase

/// What is known of an operation that was taken back, or that takes back.
enum UndoMark: Int64 {
  /// No undo is about it any more; or it adopted rows when a table began to sync.
  case undone = 0
  /// It undid others.
  case undo = 1
  /// It reverted an author's, and can be undone.
  case revert = 2
  /// An author's, reverted as a whole, by a version that kept no marks of rows. No undo takes it
  /// away.
  case reverted = 3
}

/// Marks of own operations, and of what was this replica's under a former id, by the place of
/// their group's last in the log: what of the author 0 is its sequence.
struct UndoTable {
  private let connection: StoreConnection
  private var table: String { connection.tables.undone }

  init(_ connection: StoreConnection) {
    self.connection = connection
  }

  func mark(of id: LogID) throws -> UndoMark? {
    let select = try connection.statement("SELECT is_undo FROM \(table) WHERE sequence = ?")
    select.bind(1, id.rawValue)
    return try select.first { UndoMark(rawValue: select.int64(0)) ?? .undone }
  }

  /// - Parameter sequence: of an own operation.
  func mark(_ sequence: UInt64, _ mark: UndoMark) throws {
    let put = try connection.statement(
      "REPLACE INTO \(table) (sequence, is_undo) VALUES (?, ?)")
    put.bindAll(LogID(author: 0, sequence: sequence).rawValue, mark.rawValue)
    try put.run()
  }

  func hasMarks(of author: UInt32) throws -> Bool {
    let select = try connection.statement(
      "SELECT 1 FROM \(table) WHERE sequence > ? AND sequence <= ? LIMIT 1")
    select.bindAll(of: author)
    return try select.first {} != nil
  }

  func ids(marked mark: UndoMark) throws -> [LogID] {
    let select = try connection.statement("SELECT sequence FROM \(table) WHERE is_undo = ?")
    select.bind(1, mark.rawValue)
    var ids: [LogID] = []
    try select.each { ids.append(LogID(rawValue: select.int64(0))) }
    return ids
  }
}

extension FastStatement {
  /// Binds the place in the log before all of an author's operations, and that of the last one.
  func bindAll(of author: UInt32) {
    bindAll(
      LogID(author: author, sequence: 0).rawValue,
      LogID(author: author, sequence: VersionVector.maximumSequence).rawValue)
  }
}
