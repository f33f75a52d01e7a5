#if PostgreSQL
import CPostgreSQL
import Foundation
import TernCore

/// One connection, used by one thread at a time. Statements are unnamed unless asked otherwise, and
/// nothing of a session is used, so that a pool between may give each transaction another server's
/// process.
final class PostgreSQLConnection {
  private let connection: OpaquePointer
  /// How long one answer may take. After that the connection is given up: what runs there ends by
  /// its own limits.
  private let patience: Duration
  /// The first warning of the statement that runs.
  private var warning: String?
  /// Told what the server's clock says.
  var clock: DatabaseClock?
  /// That of its server, where somebody has asked.
  var timeline: UInt64 = 0
  /// Nothing was answered since somebody took it from the pool.
  var isUntried = false
  /// An answer did not come in time, and may still come.
  private(set) var hasGivenUp = false
  /// What it said is no good for whoever takes it next.
  private var isSpent = false
  /// What leaves with the next statement.
  private var queued: [QueuedStatement] = []
  /// How many statements that write were given to it.
  private(set) var writes = 0
  /// A COMMIT may have reached the server.
  private var isCommitting = false
  /// The names of those that the server's process has prepared, by their SQL; `nil` where none are.
  /// There are as many as this code has texts.
  var prepared: [String: String]?
  /// How many round trips it has made.
  private(set) var roundTrips = 0
  /// Who is told of statements that took long.
  var slowStatements: SlowStatements?
  /// Of a rehearsal: what happens around each statement.
  var probe: PostgreSQLProbe?

  /// - Throws: ``PostgreSQLError``.
  init(_ address: String, password: String? = nil, patience: Duration) throws {
    self.patience = patience
    // libpq's own words on an address that it can't read quote pieces of it, such as a password.
    guard let options = PQconninfoParse(address, nil) else {
      throw PostgreSQLError(
        state: nil,
        message:
          "the database's address can't be read; it is a URL that begins with postgresql://, "
          + "in which special characters are percent-encoded")
    }
    let isLocal = PostgreSQLAddress(options).isLocal
    PQconninfoFree(options)
    // What the address says comes later, and counts.
    let settings =
      (password.map { [("password", $0)] } ?? []) + [
        ("sslmode", isLocal ? "prefer" : "verify-full"),
        ("connect_timeout", "\(max(2, patience.components.seconds))"),
        ("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
        ("tcp_user_timeout", "20000"), ("application_name", "tern"), ("client_encoding", "UTF8"),
        ("dbname", address),
      ]
    let names = settings.map { strdup($0.0) } + [nil]
    let values = settings.map { strdup($0.1) } + [nil]
    defer { for text in names + values { free(text) } }
    let opened = names.map { UnsafePointer($0) }.withUnsafeBufferPointer { names in
      values.map { UnsafePointer($0) }.withUnsafeBufferPointer { values in
        PQconnectdbParams(names.baseAddress!, values.baseAddress!, 1)
      }
    }
    guard let opened else { throw PostgreSQLError(state: nil, message: "out of memory") }
    connection = opened
    guard PQstatus(connection) == CONNECTION_OK else { throw lost() }
    // Else what is sent could wait for ever.
    PQsetnonblocking(connection, 1)
    PQsetNoticeReceiver(
      connection,
      { context, notice in
        let connection = Unmanaged<PostgreSQLConnection>.fromOpaque(context!).takeUnretainedValue()
        guard let severity = PQresultErrorField(notice, PostgreSQLConnection.severity),
          String(cString: severity) == "WARNING"
        else { return }
        connection.warning = connection.warning ?? PostgreSQLError(of: notice).message
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  deinit { PQfinish(connection) }

  /// Whether nothing is open, so that somebody else can go on with it.
  var isIdle: Bool {
    !isSpent && !hasGivenUp && queued.isEmpty && PQstatus(connection) == CONNECTION_OK
      && PQtransactionStatus(connection) == PQTRANS_IDLE
  }

  /// Whether the server still works at what nobody waits for any more.
  var isBusy: Bool {
    hasGivenUp && PQconsumeInput(connection) == 1 && PQisBusy(connection) == 1
  }

  /// The server's process, by which another connection can end this one.
  var processID: Int32 { PQbackendPID(connection) }

  // MARK: - Statements

  /// Reads: runs what is queued and then `sql`, in one round trip.
  ///
  /// - Throws: ``PostgreSQLError`` of the first that failed; those after it did not run.
  func run(_ sql: String, _ values: [PostgreSQLValue] = []) throws -> PostgreSQLRows {
    try runAll([(sql, values)])[0]
  }

  /// Reads several things in one round trip, each by a statement of its own, which sees what was
  /// committed before it began.
  ///
  /// - Throws: ``PostgreSQLError`` of the first that failed; those after it did not run.
  func runAll(_ statements: [(sql: String, values: [PostgreSQLValue])]) throws -> [PostgreSQLRows] {
    let all = queued + statements.map { QueuedStatement(sql: $0.sql, values: $0.values) }
    queued = []
    return try Array(exchange(all).suffix(statements.count))
  }

  /// Writes, and says what became of it.
  ///
  /// - Throws: ``PostgreSQLError``.
  func change(_ sql: String, _ values: [PostgreSQLValue] = []) throws -> PostgreSQLRows {
    writes += 1
    return try run(sql, values)
  }

  /// Writes with the next statement that is run, or with the commit: what it throws comes from
  /// there.
  func queue(_ sql: String, _ values: [PostgreSQLValue] = []) {
    writes += 1
    queued.append(QueuedStatement(sql: sql, values: values))
  }

  /// Commits, with what is queued. What came back with a warning is not known to be stored: so
  /// answers a COMMIT whose wait for a standby somebody cancelled.
  ///
  /// - Throws: ``PostgreSQLError``.
  func commit() throws {
    let command: String
    do {
      command = try run(Self.commit).command
    } catch var error as PostgreSQLError {
      error.isUnknown = isCommitting && (error.isOfConnection || !isIdle)
      throw error
    }
    // A transaction that failed is rolled back by it, without an error.
    guard command == "COMMIT" else {
      throw PostgreSQLError(state: "25P02", message: "COMMIT was answered with \(command)")
    }
    if let warning, !Planted.isActive(.commitUnclear) {
      throw PostgreSQLError(state: nil, message: warning, isUnknown: true)
    }
  }

  /// Ends a transaction without a trace. Of a connection that is not idle afterwards whoever took
  /// it lets go.
  func rollBack() {
    queued = []
    // Whoever gave up waiting for an answer does not wait for another one behind it.
    guard !hasGivenUp, PQtransactionStatus(connection) != PQTRANS_IDLE else { return }
    // The error before it is the one that counts.
    _ = try? run("ROLLBACK")
  }

  /// Waits for notifications, on a connection that nothing else is asked over.
  ///
  /// - Returns: their payloads; none when the time is over.
  /// - Throws: ``PostgreSQLError``.
  func notifications(within time: Duration) throws -> [String] {
    var payloads: [String] = []
    func take() {
      while let notification = PQnotifies(connection) {
        payloads.append(String(cString: notification.pointee.extra))
        PQfreemem(notification)
      }
    }
    take()
    guard payloads.isEmpty else { return payloads }
    var descriptor = pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
    guard poll(&descriptor, 1, Int32(max(0, time / .milliseconds(1)))) > 0 else { return [] }
    guard PQconsumeInput(connection) == 1 else { throw lost() }
    take()
    return payloads
  }

  // MARK: - Sending and waiting

  private static let commit = "COMMIT"

  private struct QueuedStatement {
    let sql: String
    let values: [PostgreSQLValue]
  }

  /// A rehearsal sees each statement by itself, though they leave together otherwise.
  private func exchange(_ statements: [QueuedStatement]) throws -> [PostgreSQLRows] {
    guard let probe else { return try answers(to: statements[...]) }
    return try statements.indices.flatMap { index in
      let sql = statements[index].sql
      isCommitting = sql == Self.commit
      try probe(.sending, sql, self)
      let rows = try answers(to: statements[index...index])
      try probe(.answered, sql, self)
      return rows
    }
  }

  /// - Source: https://www.postgresql.org/docs/15/libpq-pipeline-mode.html
  private func answers(to statements: ArraySlice<QueuedStatement>) throws -> [PostgreSQLRows] {
    roundTrips += 1
    // Whatever is lost from here on, it may have arrived.
    isCommitting = statements.last?.sql == Self.commit
    guard PQenterPipelineMode(connection) == 1 else { throw lost() }
    let messages = try statements.flatMap { statement in
      [try prepare(statement), try send(statement)].compactMap { $0 }
    }
    guard PQpipelineSync(connection) == 1 else { throw lost() }
    let end = ContinuousClock.now + patience
    var answers: [PostgreSQLRows] = []
    var failure: PostgreSQLError?
    var began = ContinuousClock.now
    for message in messages {
      // Those of the statements before it say nothing of this one.
      warning = nil
      while let result = try result(until: end) {
        switch PQresultStatus(result) {
        case PGRES_COMMAND_OK where message.isPreparation: PQclear(result)
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK: answers.append(PostgreSQLRows(owning: result))
        default:
          // Of those that follow one that failed it says that they did not run.
          failure = failure ?? PostgreSQLError(of: result)
          if message.isPreparation { prepared?[message.sql] = nil }
          if message.sql != Self.commit { isCommitting = false }
          PQclear(result)
        }
      }
      if message.isPreparation { continue }
      let now = ContinuousClock.now
      slowStatements?.note(message.sql, now - began)
      began = now
    }
    PQclear(try result(until: end))
    if let failure {
      isSpent = isSpent || failure.isOfConnection || failure.isOfPreparation
      guard PQstatus(connection) == CONNECTION_OK else { throw lost() }
      _ = PQexitPipelineMode(connection)
      throw failure
    }
    isUntried = false
    guard answers.count == statements.count, PQexitPipelineMode(connection) == 1 else {
      throw lost()
    }
    return answers
  }

  /// `nil` where the statement has no more.
  private func result(until end: ContinuousClock.Instant) throws -> OpaquePointer? {
    while PQflush(connection) == 1 || PQisBusy(connection) == 1 {
      try wait(until: end)
      guard PQconsumeInput(connection) == 1 else { throw lost() }
    }
    return PQgetResult(connection)
  }

  /// What one answer comes to.
  private struct Message {
    let sql: String
    var isPreparation = false
  }

  /// A name comes of the text, so that it means no other statement, whoever prepared it.
  ///
  /// - Returns: `nil` where it is prepared already, or has no values: such are quickly read.
  private func prepare(_ statement: QueuedStatement) throws -> Message? {
    let (sql, types) = (statement.sql, statement.values.map(\.type))
    guard let prepared, !types.isEmpty, prepared[sql] == nil else { return nil }
    let name = "tern_" + sha256(Array(sql.utf8)).prefix(16).hexadecimal
    guard PQsendPrepare(connection, name, sql, Int32(types.count), types) == 1 else {
      throw lost()
    }
    // For those behind it, too.
    self.prepared?[sql] = name
    return Message(sql: sql, isPreparation: true)
  }

  private func send(_ statement: QueuedStatement) throws -> Message {
    let values = statement.values
    let types = values.map(\.type)
    let lengths = values.map { Int32($0.bytes?.count ?? 0) }
    let formats = values.map { _ in Int32(1) }
    // One buffer for all values: pointers into several arrays don't hold.
    let contents = UnsafeMutablePointer<CChar>.allocate(
      capacity: lengths.reduce(1) { $0 + Int($1) })
    defer { contents.deallocate() }
    var used = 0
    let pointers = values.map { value -> UnsafePointer<CChar>? in
      guard let bytes = value.bytes else { return nil }
      let place = contents + used
      UnsafeMutableRawPointer(place).copyMemory(from: bytes, byteCount: bytes.count)
      used += bytes.count
      return UnsafePointer(place)
    }
    let count = Int32(values.count)
    let sent =
      if let name = prepared?[statement.sql] {
        PQsendQueryPrepared(connection, name, count, pointers, lengths, formats, 1)
      } else {
        PQsendQueryParams(
          connection, statement.sql, count, types, pointers, lengths, formats, 1)
      }
    guard sent == 1 else { throw lost() }
    return Message(sql: statement.sql)
  }

  private func wait(until end: ContinuousClock.Instant) throws {
    let left = (end - ContinuousClock.now) / .milliseconds(1)
    var descriptor = pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
    if PQflush(connection) == 1 { descriptor.events |= Int16(POLLOUT) }
    guard left > 0, poll(&descriptor, 1, Int32(left) + 1) != 0 else {
      hasGivenUp = true
      throw PostgreSQLError(
        state: nil, message: "no answer for \(patience); the connection is closed")
    }
  }

  private static let severity = Int32(UInt8(ascii: "V"))

  private func lost() -> PostgreSQLError {
    let message = PQerrorMessage(connection).map { String(cString: $0) } ?? ""
    return PostgreSQLError(
      state: nil,
      message: message.split(separator: "\n").first.map { String($0) } ?? "connection lost")
  }
}

extension PostgreSQLError {
  fileprivate init(of result: OpaquePointer?) {
    func field(_ code: Character) -> String? {
      PQresultErrorField(result, Int32(code.asciiValue!)).map { String(cString: $0) }
    }
    self.init(state: field("C"), message: field("M") ?? "no message")
    guard isOfPreparation else { return }
    message +=
      "; a pool before the database doesn't keep track of prepared statements: start without them"
  }
}

/// Where a statement is that a rehearsal looks at.
enum PostgreSQLMoment {
  case sending, answered
}

/// Throws what the connection is to throw there.
typealias PostgreSQLProbe =
  @Sendable (PostgreSQLMoment, _ sql: String, PostgreSQLConnection) throws -> Void
#endif
