import TernCore
import TernDatabase

/// The operations that a replica keeps, its own and those of others.
struct LogTable {
  private let connection: StoreConnection
  private var table: String { connection.tables.log }

  init(_ connection: StoreConnection) {
    self.connection = connection
  }

  func append(_ operation: SyncOperation, author: UInt32) throws {
    let statement = try connection.statement(connection.tables.statements.appendToLog)
    let id = LogID(author: author, sequence: operation.envelope.sequence)
    try operation.bytes.withUnsafeBytes { bytes in
      statement.bind(1, id.rawValue)
      statement.bind(2, blob: bytes)
      try statement.run()
    }
  }

  func operation(_ id: LogID) throws -> SyncOperation? {
    try reading(id) { try SyncOperation(bytes: Array($0)) }
  }

  /// Whether the log holds other bytes under that number.
  func isOther(_ operation: SyncOperation, than id: LogID) throws -> Bool {
    try reading(id) { !$0.elementsEqual(operation.bytes) } ?? false
  }

  private func reading<T>(_ id: LogID, _ body: (UnsafeRawBufferPointer) throws -> T) throws -> T? {
    let select = try connection.statement("SELECT bytes FROM \(table) WHERE id = ?")
    select.bind(1, id.rawValue)
    return try select.first { try body(select.blob(0)) }
  }

  /// The time of an author's last merged operation.
  func time(ofMerged author: UInt32, _ row: AuthorRow) throws -> HybridTime {
    guard let time = try time(of: LogID(author: author, sequence: row.merged), row) else {
      throw ReplicaError(.damaged, "the log lacks an operation that it acknowledged")
    }
    return time
  }

  /// The time of an operation that was stored here, `nil` where it was trimmed with later ones.
  ///
  /// - Parameter row: its author's.
  func time(of id: LogID, _ row: AuthorRow) throws -> HybridTime? {
    if id.sequence == row.stored { return row.time }
    if id.sequence == row.trimmed { return row.trimmedTime }
    return try operation(id)?.envelope.time
  }

  /// An operation of a group that was taken whole.
  func part(_ sequence: UInt64, of group: LogGroup) throws -> SyncOperation {
    guard let operation = try operation(LogID(author: group.author, sequence: sequence)) else {
      throw ReplicaError(.damaged, "the log lacks an operation that it acknowledged")
    }
    return operation
  }

  /// Why a group's bodies cannot be read, or `nil`.
  func bodyError(in group: LogGroup) throws -> WireError? {
    for sequence in group.sequences {
      if let error = try part(sequence, of: group).bodyError() { return error }
    }
    return nil
  }

  /// Whether it has every operation of a group.
  func holds(_ group: LogGroup) throws -> Bool {
    let count = try connection.statement(
      "SELECT count(*) FROM \(table) WHERE id >= ? AND id <= ?")
    count.bindAll(group.first.rawValue, group.last.rawValue)
    return try count.first { count.int(0) } == group.sequences.count
  }

  /// An author's operations behind a sequence number.
  func ids(of author: UInt32, after sequence: UInt64) throws -> [LogID] {
    let select = try connection.statement(
      "SELECT id FROM \(table) WHERE id > ? AND id < ? ORDER BY id")
    select.bindAll(
      LogID(author: author, sequence: sequence).rawValue,
      LogID(author: author + 1, sequence: 0).rawValue)
    var ids: [LogID] = []
    try select.each { ids.append(LogID(rawValue: select.int64(0))) }
    return ids
  }

  func drop(_ id: LogID) throws {
    let delete = try connection.statement("DELETE FROM \(table) WHERE id = ?")
    delete.bind(1, id.rawValue)
    try delete.run()
  }

  func drop(of author: UInt32, upTo sequence: UInt64) throws {
    let delete = try connection.statement("DELETE FROM \(table) WHERE id > ? AND id <= ?")
    delete.bindAll(
      LogID(author: author, sequence: 0).rawValue,
      LogID(author: author, sequence: sequence).rawValue)
    try delete.run()
  }
}
