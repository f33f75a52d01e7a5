import TernCore
import TernDatabase

/// What replicas told of forks: this one what it has said itself, and others what they said of the
/// ids under which this one wrote.
struct ToldForkTable {
  private let connection: StoreConnection
  private var table: String { connection.tables.toldFork }

  static let pauseMilliseconds: Int64 = 7 * 86_400_000

  init(_ connection: StoreConnection) {
    self.connection = connection
  }

  /// By author what a replica told last.
  func sequences(by witness: ReplicaID) throws -> [ReplicaID: UInt64] {
    let select = try connection.statement("SELECT author, sequence FROM \(table) WHERE witness = ?")
    select.bind(1, copy: .blob(witness.bytes))
    var sequences: [ReplicaID: UInt64] = [:]
    try select.each {
      guard let author = ReplicaID(bytes: select.blob(0)) else { return }
      sequences[author] = select.raw(1)
    }
    return sequences
  }

  /// What others told, the first hundred.
  func forks(besides own: ReplicaID) throws -> [ReplicaFork] {
    try forks("witness <> ?", own)
  }

  /// What others told of the id that this replica has.
  func forks(of own: ReplicaID) throws -> [ReplicaFork] {
    try forks("author = ?1 AND witness <> ?1", own)
  }

  private func forks(_ condition: String, _ own: ReplicaID) throws -> [ReplicaFork] {
    let select = try connection.statement(
      """
      SELECT witness, author, sequence FROM \(table) WHERE \(condition)
      ORDER BY witness, author LIMIT 100
      """)
    select.bind(1, copy: .blob(own.bytes))
    var forks: [ReplicaFork] = []
    try select.each {
      guard let witness = ReplicaID(bytes: select.blob(0)),
        let author = ReplicaID(bytes: select.blob(1))
      else { return }
      forks.append(ReplicaFork(toldBy: witness, replica: author, sequence: select.raw(2)))
    }
    return forks
  }

  /// Takes what a replica told in the place of what it told before.
  func save(_ sequences: [ReplicaID: UInt64], by witness: ReplicaID) throws {
    try forget(witness)
    for (author, sequence) in sequences {
      let put = try connection.statement(
        "INSERT INTO \(table) (witness, author, sequence) VALUES (?, ?, ?)")
      put.bind(1, copy: .blob(witness.bytes))
      put.bind(2, copy: .blob(author.bytes))
      put.bind(3, raw: sequence)
      try put.run()
    }
  }

  /// Takes note of what another replica tells, as far as that is of this one: of its id, or of one
  /// that it had when it was told.
  func note(_ notice: ForkNotice, by witness: ReplicaID, of own: ReplicaID) throws {
    let known = try sequences(by: witness)
    let told = notice.sequences.filter { $0.key == own || known[$0.key] != nil }
    if told != known { try save(told, by: witness) }
  }

  /// Whether this replica may take a new id now because of what another told. Anybody can tell
  /// anything, and each new id costs a rewritten log here and one more replica everywhere: it is
  /// done once a week, whoever tells, by the device's clock as no remote corrects it.
  func mayChangeID(_ clock: ReplicaClock) throws -> Bool {
    let now = try clock.uncorrectedMilliseconds()
    let select = try connection.statement(
      "SELECT milliseconds FROM \(connection.tables.toldChange)")
    // The clock may have been far ahead.
    return try select.first { abs(now - select.int64(0)) >= Self.pauseMilliseconds } ?? true
  }

  func noteIDChange(_ clock: ReplicaClock) throws {
    try connection.statement("DELETE FROM \(connection.tables.toldChange)").run()
    let put = try connection.statement(
      "INSERT INTO \(connection.tables.toldChange) (milliseconds) VALUES (?)")
    put.bind(1, try clock.uncorrectedMilliseconds())
    try put.run()
  }

  /// - Returns: whether it had told anything.
  @discardableResult
  func forget(_ witness: ReplicaID) throws -> Bool {
    let delete = try connection.statement("DELETE FROM \(table) WHERE witness = ?")
    delete.bind(1, copy: .blob(witness.bytes))
    try delete.run()
    return delete.changeCount > 0
  }
}
