import GRDB
import Synchronization
import TernCore

/// What connections ran, with all that was bound, so that another program can do the same.
final class StatementRecording: Sendable {
  enum Part {
    /// Which of ``statements``.
    case statement(Int, [SQLiteValue])
    /// A transaction ends.
    case end
  }

  /// Whether pragmas are recorded too.
  private let hasPragmas: Bool

  init(hasPragmas: Bool = false) { self.hasPragmas = hasPragmas }

  private struct Content {
    var isRecording = false
    var statements: [String] = []
    var indices: [String: Int] = [:]
    var parts: [Part] = []
  }

  private let content = Mutex(Content())

  /// Connections that are recorded once ``start()`` was called.
  var configuration: Configuration {
    var configuration = Configuration()
    configuration.prepareDatabase { db in
      db.trace { event in
        guard case .statement(let statement) = event else { return }
        self.add(statement)
      }
    }
    return configuration
  }

  func start() { content.withLock { $0.isRecording = true } }

  /// - Returns: what ran in it.
  func record(_ body: () throws -> Void) rethrows -> [Part] {
    start()
    defer { content.withLock { $0.isRecording = false } }
    try body()
    return take()
  }

  /// - Returns: what ran since the last call.
  func take() -> [Part] {
    content.withLock { content in
      defer { content.parts = [] }
      return content.parts
    }
  }

  var statements: [String] { content.withLock { $0.statements } }

  private func add(_ statement: Database.TraceEvent.Statement) {
    content.withLock { content in
      guard content.isRecording else { return }
      let sql = statement.sql
      // Where transactions begin is the other program's own.
      if sql.hasPrefix("BEGIN") || !hasPragmas && sql.hasPrefix("PRAGMA") { return }
      if sql.hasPrefix("COMMIT") { return content.parts.append(.end) }
      let index = content.indices[sql] ?? content.statements.count
      if index == content.statements.count {
        content.statements.append(sql)
        content.indices[sql] = index
      }
      content.parts.append(.statement(index, ExpandedSQL(statement.expandedSQL).values(of: sql)))
    }
  }
}

/// A statement in which SQLite wrote the values in the places of the parameters.
private struct ExpandedSQL {
  private let text: [UInt8]

  init(_ text: String) { self.text = Array(text.utf8) }

  /// - Parameter template: the statement with its parameters, `?` or `?1`.
  func values(of template: String) -> [SQLiteValue] {
    var values: [SQLiteValue] = []
    var rest = text[...]
    var template = Substring(template)[...].utf8
    while let byte = template.popFirst() {
      guard byte == UInt8(ascii: "?") else {
        precondition(rest.popFirst() == byte, "a statement was not recorded as it ran")
        continue
      }
      let digits = template.prefix { (0x30...0x39).contains($0) }
      template.removeFirst(digits.count)
      let index = Int(Substring(digits)).map { $0 - 1 } ?? values.count
      let value = Self.literal(&rest)
      if index < values.count { values[index] = value } else { values.append(value) }
    }
    return values
  }

  private static func literal(_ text: inout ArraySlice<UInt8>) -> SQLiteValue {
    switch text.first {
    case UInt8(ascii: "N"):
      text.removeFirst("NULL".count)
      return .null
    case UInt8(ascii: "x"):
      text.removeFirst()
      let digits = quoted(&text).map { Character(UnicodeScalar($0)).hexDigitValue! }
      return .blob(
        stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
    case UInt8(ascii: "'"): return .text(quoted(&text))
    default:
      let number = text.prefix { $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) }
      text.removeFirst(number.count)
      return .integer(Int64(String(decoding: number, as: UTF8.self))!)
    }
  }

  private static func quoted(_ text: inout ArraySlice<UInt8>) -> [UInt8] {
    let quote = UInt8(ascii: "'")
    text.removeFirst()
    var content: [UInt8] = []
    while let byte = text.popFirst() {
      // Two of them are one that does not end it.
      if byte == quote, text.popFirst(if: quote) == nil { break }
      content.append(byte)
    }
    return content
  }
}

extension ArraySlice<UInt8> {
  fileprivate mutating func popFirst(if byte: UInt8) -> UInt8? { first == byte ? popFirst() : nil }
}
