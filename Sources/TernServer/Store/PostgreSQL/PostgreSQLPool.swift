#if PostgreSQL
import Foundation

/// The connections of one store: as many as threads wait for answers at once, and no more than the
/// database gives it.
final class PostgreSQLPool: @unchecked Sendable {
  private let address: String
  private let password: PasswordFile?
  private let limit: Int
  private let patience: Duration
  private let prepare: @Sendable (PostgreSQLConnection) throws -> Void
  /// Guards what follows.
  private let condition = NSCondition()
  private var idle: [PostgreSQLConnection] = []
  /// Those whose server still works at something: it has their place until that is over.
  private var busy: [PostgreSQLConnection] = []
  private var left: Int
  private var isClosed = false
  /// Connections of an older one are to a server that is the primary no more.
  private var newestTimeline: UInt64 = 0

  /// - Parameters:
  ///   - patience: how long one answer may take, and the wait for a connection.
  ///   - prepare: looks at each new connection.
  init(
    _ address: String, password: PasswordFile? = nil, connections: Int, patience: Duration,
    prepare: @escaping @Sendable (PostgreSQLConnection) throws -> Void
  ) {
    (self.address, self.password) = (address, password)
    self.patience = patience
    self.prepare = prepare
    (limit, left) = (connections, connections)
  }

  /// Runs `body` with a connection that is its own meanwhile; one that is not idle afterwards is
  /// closed, which rolls back.
  ///
  /// - Throws: ``PostgreSQLError``; what `body` throws.
  ///
  /// - Parameter unanswered: where the server still works at so many that were given up, this is
  ///   refused: what only reads finds a connection while COMMITs hang.
  func withConnection<Value>(
    ifUnanswered unanswered: Int = .max, _ body: (PostgreSQLConnection) throws -> Value
  ) throws -> Value {
    let connection = try take(ifUnanswered: unanswered)
    defer { give(connection) }
    do {
      return try body(connection)
    } catch var error as PostgreSQLError
      where connection.isUntried && !connection.hasGivenUp && error.isOfConnection
      && !error.isUnknown
    {
      error.isStale = true
      throw error
    }
  }

  /// How many are in use, or as good as in use: the server still works at something.
  var connections: StoreConnections {
    condition.withLock { StoreConnections(inUse: limit - left - idle.count, limit: limit) }
  }

  /// Closes those that nobody uses.
  func forgetIdle() {
    condition.withLock {
      left += idle.count
      idle = []
    }
  }

  /// From now on nobody is given one; those in use are closed when they come back.
  func close() {
    condition.withLock {
      isClosed = true
      (idle, busy) = ([], [])
      condition.broadcast()
    }
  }

  /// Under the lock: those whose server is done with what nobody waits for.
  private func forgetAnswered() {
    let count = busy.count
    busy.removeAll { !$0.isBusy }
    left += count - busy.count
  }

  private func take(ifUnanswered unanswered: Int) throws -> PostgreSQLConnection {
    let end = Date(timeIntervalSinceNow: patience / .seconds(1))
    let known = try condition.withLock { () -> PostgreSQLConnection? in
      while idle.isEmpty, !isClosed {
        forgetAnswered()
        if left > 0 { break }
        // Of what is over at a server nobody here is told.
        let soon = busy.isEmpty ? end : min(end, Date(timeIntervalSinceNow: 0.1))
        guard condition.wait(until: soon) || soon < end else {
          throw PostgreSQLError(state: nil, message: "all connections are in use")
        }
      }
      guard !isClosed else { throw PostgreSQLError(state: nil, message: "the store is closed") }
      forgetAnswered()
      guard busy.count < unanswered else {
        throw PostgreSQLError(state: nil, message: "too many commits wait for the database")
      }
      if let connection = idle.popLast() {
        connection.isUntried = true
        return connection
      }
      left -= 1
      return nil
    }
    if let known { return known }
    do {
      let connection = try PostgreSQLConnection(
        address, password: password?.read(), patience: patience)
      try prepare(connection)
      condition.withLock {
        newestTimeline = max(newestTimeline, connection.timeline)
        let count = idle.count
        idle.removeAll { $0.timeline < newestTimeline }
        left += count - idle.count
      }
      return connection
    } catch {
      release(nil)
      throw error
    }
  }

  private func give(_ connection: PostgreSQLConnection) {
    guard connection.isBusy else { return release(connection.isIdle ? connection : nil) }
    condition.withLock { busy.append(connection) }
  }

  private func release(_ connection: PostgreSQLConnection?) {
    condition.withLock {
      let isKept = !isClosed && connection.map { $0.timeline >= newestTimeline } ?? false
      if let connection, isKept { idle.append(connection) } else { left += 1 }
      condition.signal()
    }
  }
}
#endif
