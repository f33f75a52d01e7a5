import GRDB

/// Statements of one connection by the strings that ask for them again and again: found by a few
/// bytes of those, where GRDB's own cache hashes the whole text each time.
///
/// GRDB owns them. Here they are weak, so that the app can close its database.
package final class StatementMemory {
  private struct Place {
    weak var statement: Statement?
  }

  /// How many places in a row a statement can stand in.
  private static let tries = 4
  /// 256 to begin at.
  private static let count = 255 + tries
  /// By place, what asks for it: apart from the statements, since looking for one would copy the
  /// weak reference to it at each place.
  private let texts = UnsafeMutableBufferPointer<String>.allocate(capacity: count)
  private let places = UnsafeMutablePointer<Place>.allocate(capacity: count)

  package init() {
    texts.initialize(repeating: "")
    places.initialize(repeating: Place(), count: Self.count)
  }

  deinit {
    texts.deinitialize()
    places.deinitialize(count: Self.count)
    texts.deallocate()
    places.deallocate()
  }

  /// What is prepared for a string that was not asked for before, and whether to remember it.
  package typealias Text = (_ sql: String) throws -> (text: String, isKept: Bool)

  package static func unchanged(_ sql: String) -> (text: String, isKept: Bool) { (sql, true) }

  /// - Parameter db: always the same connection.
  package func statement(
    _ db: Database, _ sql: String, as text: Text = StatementMemory.unchanged
  ) throws -> FastStatement {
    FastStatement(try known(db, sql, as: text))
  }

  /// Where another schema may ask for another text.
  package func forgetAll() {
    texts.update(repeating: "")
    places.update(repeating: Place(), count: Self.count)
  }

  /// Runs a statement that has no parameters as GRDB does, and tells its observers.
  func execute(_ db: Database, _ sql: String) throws {
    try known(db, sql, as: Self.unchanged).execute()
  }

  private func known(_ db: Database, _ sql: String, as text: Text) throws -> Statement {
    let first = Self.place(of: sql)
    for index in first..<first + Self.tries where texts[index] == sql {
      if let statement = places[index].statement { return statement }
    }
    let (text, isKept) = try text(sql)
    let statement = try db.cachedStatement(sql: text)
    if !isKept { return statement }
    let free = (first..<first + Self.tries).first { places[$0].statement == nil } ?? first
    texts[free] = sql
    places[free] = Place(statement: statement)
    return statement
  }

  /// By the length, and eight bytes in the middle, where tables have their names.
  private static func place(of sql: String) -> Int {
    var hash = UInt64(truncatingIfNeeded: sql.utf8.count)
    sql.utf8.withContiguousStorageIfAvailable { bytes in
      if bytes.count >= 8 {
        hash ^= UnsafeRawBufferPointer(bytes)
          .loadUnaligned(fromByteOffset: (bytes.count - 8) / 2, as: UInt64.self)
      }
    }
    // Fibonacci hashing: the upper bits depend on all.
    return Int((hash &* 0x9E37_79B9_7F4A_7C15) >> 56)
  }
}
