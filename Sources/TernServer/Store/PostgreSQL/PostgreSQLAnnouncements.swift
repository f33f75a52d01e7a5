#if PostgreSQL
import Foundation
import Synchronization
import TernCore

/// What the processes of a store tell each other by NOTIFY: which spaces moved. Payloads name the
/// process that tells, and spaces, with blanks between.
///
/// A notification is only ever a hint. One may be lost with the connection that listens, so that
/// heads are read all the same; and it leaves after the commit, in a transaction of its own, as one
/// within it would take a lock of the whole database.
final class PostgreSQLAnnouncements: Sendable {
  /// One for each schema of a database.
  let channel: String
  /// This process's, drawn at its start.
  private let name: String
  private let address: String
  private let password: PasswordFile?
  private let patience: Duration
  /// Told the timeline of each connection.
  private let note: @Sendable (UInt64) throws -> Void
  /// Used by one thread at a time, and by none while it is opened.
  private let connection = Mutex<Held>(.init())

  private struct Held: @unchecked Sendable {
    var connection: PostgreSQLConnection?
  }

  /// - Parameter address: of the database itself, without a pool between that hands out connections
  ///   for a transaction.
  init(
    _ address: String, password: PasswordFile?, schema: String, patience: Duration,
    using generator: inout some RandomNumberGenerator,
    noting note: @escaping @Sendable (UInt64) throws -> Void
  ) {
    self.note = note
    (self.address, self.password) = (address, password)
    self.patience = patience
    // A channel's name has 63 bytes at the most, and so has a schema's.
    channel = "tern_" + sha256(Array(schema.utf8)).prefix(8).hexadecimal
    name = String(Epoch.draw(using: &generator).prefix(16))
  }

  /// Runs a statement's worth of notifications.
  func announce(_ spaces: [String], _ run: (String, [PostgreSQLValue]) throws -> PostgreSQLRows)
    throws
  {
    _ = try run(
      "SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload",
      [.text(channel), .texts(payloads(spaces))])
  }

  /// A payload has less than 8000 bytes.
  private func payloads(_ spaces: [String]) -> [String] {
    var payloads: [String] = []
    for space in spaces {
      if let last = payloads.last, last.utf8.count + space.utf8.count < 7900 {
        payloads[payloads.count - 1] += " " + space
      } else {
        payloads.append("\(name) \(space)")
      }
    }
    return payloads
  }

  /// Waits until somebody else tells of spaces. Connects where there is no connection.
  ///
  /// - Throws: ``PostgreSQLError``, ``StoreError``; the next call connects anew.
  func next(within time: Duration) throws -> Set<String> {
    try connection.withLock { held in
      do {
        let listening = try held.connection ?? connect()
        held.connection = listening
        return try spaces(in: listening.notifications(within: time), byOthersThan: name)
      } catch {
        held.connection = nil
        throw error
      }
    }
  }

  private func spaces(in payloads: [String], byOthersThan name: String) -> Set<String> {
    payloads.reduce(into: []) { spaces, payload in
      let words = payload.split(separator: " ").map { String($0) }
      if words.first != name { spaces.formUnion(words.dropFirst()) }
    }
  }

  private func connect() throws -> PostgreSQLConnection {
    let connection = try PostgreSQLConnection(
      address, password: password?.read(), patience: patience)
    try note(PostgreSQLStanding(connection).check())
    _ = try connection.run("LISTEN \(channel)")
    return connection
  }

  /// Sends itself a notification over the store's own connections, and waits for it.
  ///
  /// - Throws: ``StoreError`` where it doesn't come; ``PostgreSQLError``.
  func prove(_ run: (String, [PostgreSQLValue]) throws -> PostgreSQLRows) throws {
    let listening = try connect()
    _ = try run("SELECT pg_notify($1, $2)", [.text(channel), .text(name)])
    let end = ContinuousClock.now + patience
    while ContinuousClock.now < end {
      guard try listening.notifications(within: end - ContinuousClock.now).contains(name) else {
        continue
      }
      return connection.withLock { $0.connection = listening }
    }
    throw StoreError(
      .inaccessible,
      "the address to listen at hears no notification that is sent to the database's: name the same "
        + "database, without a pool between; or none, and other processes' pushes are found "
        + "once a second")
  }

  func close() { connection.withLock { $0.connection = nil } }
}
#endif
