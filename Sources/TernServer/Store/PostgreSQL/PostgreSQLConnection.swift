#if PostgreSQL
import CPostgreSQL
import Foundation
import TernCore

/// One connection, used by one thread at a time. Statements are unnamed and run in no session of
/// their own, so that a pool between may give each transaction another server's process.
final class PostgreSQLConnection {
  private let connection: OpaquePointer
  /// How long one answer may take. After that the connection is given up: what runs there ends by
  /// its own limits.
  private let patience: Duration
  /// The first warning of the statement that runs.
  private var warning: String?
  /// Nothing was answered since somebody took it from the pool.
  var isUntried = false
  /// An answer did not come in time, and may still come.
  private(set) var hasGivenUp = false
  /// What it said is no good for whoever takes it next.
  private var isSpent = false
  /// Of a rehearsal: what happens around each statement.
  var probe: PostgreSQLProbe?

  /// - Throws: ``PostgreSQLError``.
  init(_ address: String, patience: Duration) throws {
    self.patience = patience
    // libpq's own words on an address that it can't read quote pieces of it, such as a password.
    guard let options = PQconninfoParse(address, nil) else {
      throw PostgreSQLError(
        state: nil,
        message:
          "the database's address can't be read; it is a URL that begins with postgresql://, "
          + "in which special characters are percent-encoded")
    }
    PQconninfoFree(options)
    // What the address says comes later, and counts.
    let settings = [
      ("sslmode", "verify-full"), ("connect_timeout", "\(max(2, patience.components.seconds))"),
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
        connection.warning = connection.warning ?? PostgreSQLConnection.text(of: notice)
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  deinit { PQfinish(connection) }

  /// Whether nothing is open, so that somebody else can go on with it.
  var isIdle: Bool {
    !isSpent && !hasGivenUp && PQstatus(connection) == CONNECTION_OK
      && PQtransactionStatus(connection) == PQTRANS_IDLE
  }

  /// Whether the server still works at what nobody waits for any more.
  var isBusy: Bool {
    hasGivenUp && PQconsumeInput(connection) == 1 && PQisBusy(connection) == 1
  }

  /// The server's process, by which another connection can end this one.
  var processID: Int32 { PQbackendPID(connection) }

  /// - Throws: ``PostgreSQLError``.
  @discardableResult
  func run(_ sql: String, _ values: [PostgreSQLValue] = []) throws -> PostgreSQLRows {
    warning = nil
    try probe?(.sending, sql, self)
    try send(sql, values)
    let rows = try answer()
    try probe?(.answered, sql, self)
    return rows
  }

  /// Runs statements in one round trip, none of which gives rows.
  ///
  /// - Throws: ``PostgreSQLError``.
  func run(script: String) throws {
    try probe?(.sending, script, self)
    guard PQsendQuery(connection, script) == 1 else { throw lost() }
    _ = try answer()
    try probe?(.answered, script, self)
  }

  /// Commits. What came back with a warning is not known to be stored: so answers a COMMIT whose
  /// wait for a standby somebody cancelled.
  ///
  /// - Throws: ``PostgreSQLError``.
  func commit() throws {
    let command: String
    do {
      command = try run("COMMIT").command
    } catch var error as PostgreSQLError {
      error.isUnknown = error.isOfConnection || !isIdle
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

  // MARK: - Sending and waiting

  private func send(_ sql: String, _ values: [PostgreSQLValue]) throws {
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
    let sent = PQsendQueryParams(
      connection, sql, Int32(values.count), types, pointers, lengths, formats, 1)
    guard sent == 1 else { throw lost() }
  }

  private func answer() throws -> PostgreSQLRows {
    let end = ContinuousClock.now + patience
    var answer: PostgreSQLRows?
    var failure: PostgreSQLError?
    while true {
      while PQflush(connection) == 1 || PQisBusy(connection) == 1 {
        try wait(until: end)
        guard PQconsumeInput(connection) == 1 else { throw lost() }
      }
      guard let result = PQgetResult(connection) else { break }
      switch PQresultStatus(result) {
      case PGRES_COMMAND_OK, PGRES_TUPLES_OK: answer = PostgreSQLRows(owning: result)
      default:
        failure =
          failure
          ?? PostgreSQLError(
            state: PQresultErrorField(result, Self.state).map { String(cString: $0) },
            message: Self.text(of: result))
        PQclear(result)
      }
    }
    if let failure {
      isSpent = isSpent || failure.isOfConnection
      throw PQstatus(connection) == CONNECTION_OK ? failure : lost()
    }
    isUntried = false
    guard let answer else { throw lost() }
    return answer
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
  private static let state = Int32(UInt8(ascii: "C"))
  private static let primary = Int32(UInt8(ascii: "M"))

  private static func text(of result: OpaquePointer?) -> String {
    PQresultErrorField(result, primary).map { String(cString: $0) } ?? "no message"
  }

  private func lost() -> PostgreSQLError {
    let message = PQerrorMessage(connection).map { String(cString: $0) } ?? ""
    return PostgreSQLError(
      state: nil,
      message: message.split(separator: "\n").first.map { String($0) } ?? "connection lost")
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
