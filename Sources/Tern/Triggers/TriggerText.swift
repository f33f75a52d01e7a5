import Synchronization
import TernCore

/// What a trigger's own statements write, read from its text: their targets have no schema before
/// their names, and there are no common table expressions.
///
/// - Source: <https://www.sqlite.org/lang_createtrigger.html>
struct TriggerText: Sendable {
  enum Write: Hashable, Sendable {
    /// Also as the first part of an UPSERT.
    case insert
    case delete
    /// The columns that it sets.
    case update([String])
  }

  /// What it is on, a table or a view.
  let table: String
  let writes: [(target: String, write: Write)]
  /// Those of ``writes`` that insert.
  let inserts: [TriggerInsert]
  /// Whether it can refuse what fired it, leave a part of that, or end the transaction.
  let mayRefuse: Bool
  /// The targets of UPDATE OR REPLACE, from which it deletes too.
  let replaces: Set<String>
  /// Whether a statement says what becomes of a conflict, which an outer one's clause overrides.
  let hasConflictClause: Bool
  /// All names in it, as they stand.
  let names: Set<String>
  /// What stands between the trigger's name and ``table``, and behind that.
  private let event: String
  private let rest: String

  /// - Returns: `nil` for what does not read like a trigger.
  init?(_ sql: String) {
    let text = SQLText(sql)
    let tokens = text.tokens
    guard
      let on = tokens.indices.dropFirst(3).first(where: { tokens[$0].isWord("on") }),
      let begin = tokens.indices.dropFirst(on).first(where: {
        tokens[$0].isWord("begin") && tokens[$0].depth == 0 && !tokens[$0 - 1].isSymbol(".")
      }), tokens.last?.isWord("end") ?? false
    else { return nil }
    let isQualified = on + 2 < tokens.count && tokens[on + 2].isSymbol(".")
    let place = isQualified ? on + 3 : on + 1
    guard place < begin else { return nil }
    table = tokens[place].name
    func part(_ range: Range<Int>) -> String {
      String(decoding: text.bytes[range], as: UTF8.self)
    }
    event = part(tokens[2].range.upperBound..<tokens[on].range.upperBound)
    rest = part(tokens[place].range.upperBound..<text.bytes.count)
    var writes: [(target: String, write: Write)] = []
    var inserts: [TriggerInsert] = []
    var replaces: Set<String> = []
    var hasConflictClause = false
    let body = tokens[(begin + 1)..<(tokens.count - 1)]
    for statement in body.split(whereSeparator: { $0.isSymbol(";") }) {
      guard let read = Self.read(Array(statement)) else { return nil }
      if let write = read.write { writes.append(write) }
      if read.write?.write == .insert, let into = statement.firstIndex(where: { $0.isWord("into") })
      {
        inserts.append(TriggerInsert(statement[(into + 1)...]))
      }
      if let target = read.write?.target,
        statement.starts(
          with: ["update", "or", "replace"],
          by: {
            $0.isWord($1)
          })
      {
        replaces.insert(target.folded)
      }
      hasConflictClause = hasConflictClause || read.hasConflictClause
    }
    self.writes = writes
    self.inserts = inserts
    self.replaces = replaces
    self.hasConflictClause = hasConflictClause
    mayRefuse = tokens.indices.dropLast().contains {
      tokens[$0].isWord("raise") && tokens[$0 + 1].isSymbol("(")
        || tokens[$0].isWord("or")
          && (tokens[$0 + 1].isWord("rollback") || tokens[$0 + 1].isWord("fail"))
    }
    names = Set(tokens.filter { $0.kind != .symbol }.map(\.name.folded))
  }

  private typealias Statement = (write: (target: String, write: Write)?, hasConflictClause: Bool)

  private static func read(_ tokens: [SQLText.Token]) -> Statement? {
    guard let verb = tokens.first, verb.kind == .word else { return nil }
    let hasClause = tokens.count > 3 && tokens[1].isWord("or")
    let next = hasClause ? 3 : 1
    switch verb.text.folded {
    case "select", "values": return (nil, false)
    case "insert", "replace":
      guard tokens.count > next + 1, tokens[next].isWord("into") else { return nil }
      return ((tokens[next + 1].name, .insert), hasClause || verb.isWord("replace"))
    case "delete":
      guard tokens.count > 2, tokens[1].isWord("from") else { return nil }
      return ((tokens[2].name, .delete), false)
    case "update":
      guard tokens.count > next, let columns = assigned(tokens[(next + 1)...]) else { return nil }
      return ((tokens[next].name, .update(columns)), hasClause)
    default: return nil
    }
  }

  /// The columns of `SET a = …, (b, c) = …`. A comma that is of something else may add names, and
  /// none is left out.
  private static func assigned(_ tokens: ArraySlice<SQLText.Token>) -> [String]? {
    guard let set = tokens.firstIndex(where: { $0.isWord("set") }) else { return nil }
    var columns: [String] = []
    for index in tokens.indices
    where index == set || tokens[index].isSymbol(",") && tokens[index].depth == tokens[set].depth {
      var place = index + 1
      var names: [String] = []
      if place < tokens.endIndex, tokens[place].isSymbol("(") {
        let end = tokens[place...].firstIndex { $0.isSymbol(")") } ?? tokens.endIndex
        names = tokens[place..<end].filter { $0.kind != .symbol }.map(\.name)
        place = end + 1
      } else if place < tokens.endIndex {
        names = [tokens[place].name]
        place += 1
      }
      if place < tokens.endIndex, tokens[place].isSymbol("=") { columns += names }
    }
    return columns.isEmpty ? nil : columns
  }

  /// A temporary trigger that does the same.
  func temporary(_ name: String) -> String {
    "CREATE TEMP TRIGGER \(name.quoted)\(event) main.\(table.quoted)\(rest)"
  }
}

extension TriggerText {
  private static let read = Mutex<[String: TriggerText?]>([:])

  /// Read once a text: merges ask each time.
  static func reading(_ sql: String) -> TriggerText? {
    if let known = read.withLock({ $0[sql] }) { return known }
    let text = TriggerText(sql)
    read.withLock {
      if $0.count > 1000 { $0.removeAll() }
      $0[sql] = .some(text)
    }
    return text
  }
}
