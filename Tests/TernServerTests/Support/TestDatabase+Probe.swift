#if PostgreSQL
import Synchronization

@testable import TernServer

/// Counts the statements of one push, and does something at one of them.
final class StatementProbe: Sendable {
  private struct State {
    var isOn = false
    var statements: [String] = []
    var target: (number: Int, moment: PostgreSQLMoment)?
    var action: (@Sendable (PostgreSQLConnection) throws -> Void)?
  }

  private let state = Mutex(State())

  /// What was run while it was on.
  var statements: [String] { state.withLock { $0.statements } }

  var probe: PostgreSQLProbe {
    { [self] moment, sql, connection in
      let action = state.withLock { state -> (@Sendable (PostgreSQLConnection) throws -> Void)? in
        guard state.isOn else { return nil }
        if moment == .sending { state.statements.append(sql) }
        guard let target = state.target, target.number == state.statements.count - 1,
          target.moment == moment
        else { return nil }
        defer { state.action = nil }
        return state.action
      }
      try action?(connection)
    }
  }

  /// Runs `body`, and `action` at a statement of it, from 0 on.
  func doing<Value>(
    _ action: @escaping @Sendable (PostgreSQLConnection) throws -> Void, at number: Int,
    _ moment: PostgreSQLMoment, of body: () throws -> Value
  ) rethrows -> Value {
    state.withLock { $0 = State(isOn: true, target: (number, moment), action: action) }
    defer { state.withLock { $0.isOn = false } }
    return try body()
  }

  /// How many statements `body` runs.
  func count(_ body: () throws -> Void) rethrows -> Int {
    let nothing: @Sendable (PostgreSQLConnection) -> Void = { _ in }
    try doing(nothing, at: .max, .sending, of: body)
    return statements.count
  }
}

extension TestDatabase {
  /// Where a chain doesn't go over all operations before: the positions, of all spaces.
  func brokenChains() throws -> [UInt64] {
    let rows = try run(
      "SELECT space, position, digest, chain FROM tern.operation ORDER BY space, position")
    var chains: [Int64: ChainDigest] = [:]
    var broken: [UInt64] = []
    for row in rows.map({ $0 }) {
      let next = ChainDigest(
        after: chains[row.integer(0)], OperationDigest(stored: row.bytes(2) ?? []))
      if next.bytes != row.bytes(3) { broken.append(UInt64(row.integer(1))) }
      chains[row.integer(0)] = next
    }
    return broken
  }
}

/// What comes instead of an answer.
extension PostgreSQLError {
  static let lost = PostgreSQLError(state: nil, message: "server closed the connection")
  static let serialization = PostgreSQLError(state: "40001", message: "could not serialize access")
  static let deadlock = PostgreSQLError(state: "40P01", message: "deadlock detected")
  static let diskFull = PostgreSQLError(state: "53100", message: "could not extend file")
  static let readOnly = PostgreSQLError(
    state: "25006", message: "cannot execute INSERT in a read-only transaction")
}
#endif
