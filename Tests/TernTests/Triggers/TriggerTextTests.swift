import GRDBSQLite
import Rehearsals
import TernTesting
import Testing

@testable import Tern
@testable import TernCore

@Suite("Triggers: what a trigger's text says")
struct TriggerTextTests {
  private static let creation = """
    CREATE TABLE book (id INTEGER PRIMARY KEY, a, b, c, "end", "se,t" UNIQUE);
    CREATE TABLE "or""der" (id INTEGER PRIMARY KEY, a, b, c, "end", "se,t" UNIQUE);
    CREATE TABLE [begin] (id INTEGER PRIMARY KEY, a, b, c, "end", "se,t" UNIQUE);
    CREATE TABLE 'into' (id INTEGER PRIMARY KEY, a, b, c, "end", "se,t" UNIQUE);
    """

  @Test(arguments: [
    ("BEGIN SELECT RAISE(ABORT, 'no'); END", true),
    ("WHEN NEW.a BEGIN SELECT raise /* x */ (IGNORE); END", true),
    ("BEGIN INSERT OR ROLLBACK INTO book (a) VALUES (1); END", true),
    ("BEGIN INSERT INTO book (a) VALUES ('RAISE(ABORT)'); END", false),
    ("BEGIN UPDATE book SET a = \"raise\"; -- RAISE(\n END", false),
  ])
  func `whether it can refuse a write is known`(_ body: String, _ mayRefuse: Bool) {
    let text = TriggerText("CREATE TRIGGER t AFTER INSERT ON book \(body)")
    #expect(text?.mayRefuse == mayRefuse)
  }

  @Test(arguments: [
    "", "CREATE TRIGGER t", "CREATE TRIGGER t AFTER INSERT ON book BEGIN INSERT book; END",
    "CREATE TRIGGER t AFTER INSERT ON book BEGIN WITH x AS (SELECT 1) DELETE FROM book; END",
    "CREATE TRIGGER t AFTER INSERT ON book BEGIN UPDATE book; END",
    "CREATE TABLE t (on, begin, end)",
  ])
  func `a text that is no trigger of SQLite's is none`(_ text: String) {
    #expect(TriggerText(text) == nil)
  }

  /// Every seed draws a trigger, which SQLite then compiles: its authorizer says what that writes.
  @Test func `what it writes is what SQLite's authorizer is asked about`() throws {
    for seed in Rehearsal.seeds(1...4000, short: 300) {
      var random = SeededGenerator(seed: seed)
      let drawn = HostileTrigger(using: &random)
      let text = try #require(TriggerText(drawn.sql), "\(drawn.sql)")
      #expect(text.table == drawn.table, "seed \(seed): \(drawn.sql)")
      for sql in [drawn.sql, text.temporary("copy of it")] {
        let asked = try Compiler(Self.creation).writes(of: sql, firing: drawn.firing)
        var read: Set<String> = []
        for (target, write) in text.writes {
          switch write {
          case .insert: read.insert("insert \(target)".folded)
          case .delete: read.insert("delete \(target)".folded)
          case .update(let columns):
            for column in columns { read.insert("update \(target).\(column)".folded) }
          }
        }
        // An UPSERT's second part, and what REPLACE removes, are of a table that is inserted into.
        let inserted = Set(text.writes.filter { $0.write == .insert }.map(\.target.folded))
        let more = asked.subtracting(read).filter { line in
          !inserted.contains { line.hasPrefix("update \($0).") || line == "delete \($0)" }
        }
        #expect(more.isEmpty, "seed \(seed): \(sql): SQLite writes \(more) too")
        #expect(read.isSubset(of: asked), "seed \(seed): \(sql): SQLite writes \(asked)")
      }
    }
  }
}

/// A trigger of much that is hard to read.
private struct HostileTrigger {
  let sql: String
  let table: String
  /// A statement that fires it.
  let firing: String

  private static let tables = ["book", "or\"der", "begin", "into"]

  init(using random: inout SeededGenerator) {
    func one<T>(_ values: [T]) -> T { values[Int.random(in: 0..<values.count, using: &random)] }
    func some() -> Bool { Bool.random(using: &random) }
    func quoted(_ name: String) -> String {
      let double = "\"" + name.replacing("\"", with: "\"\"") + "\""
      return name == "book" && some() ? "BooK" : one([double, double, "[\(name)]", "`\(name)`"])
    }
    func space() -> String { one([" ", "\n", " /* ; END */ ", " -- BEGIN; UPDATE x SET y = 1\n"]) }
    func column() -> String { one(["a", "B", "[c]", "\"end\"", "`se,t`"]) }
    func value() -> String {
      one([
        "1", "'; DELETE FROM book'", "NEW.a", "NEW.\"end\"",
        "(SELECT max(a), 2 FROM book LIMIT 1) IS 3",
        "CASE WHEN NEW.b THEN 1 ELSE (SELECT count(*) FROM [begin] WHERE a = 1) END",
        "NEW.a IS DISTINCT FROM NEW.b", "coalesce(NEW.a, NEW.b, ',')", "x'00'", "NEW.a == NEW.b",
        "NEW.a BETWEEN 1 AND 2", "NEW.c IN (1, 2)",
      ]).replacing("max(a), 2 FROM", with: "max(a) FROM")
    }
    func clause() -> String { one(["", "", "OR IGNORE", "OR REPLACE", "OR FAIL", "OR ABORT"]) }
    func assignment() -> String {
      some() ? "\(column()) = \(value())" : "(a, \"end\") = (\(value()), \(value()))"
    }
    func statement() -> String {
      let target = quoted(one(Self.tables))
      switch Int.random(in: 0..<6, using: &random) {
      case 0: return "DELETE FROM\(space())\(target) WHERE a = \(value())"
      case 1:
        let sets = (0...Int.random(in: 0...2, using: &random)).map { _ in assignment() }
        let from = some() ? " FROM book AS x, [begin] AS y WHERE x.a = y.a" : " WHERE a, 1 = 1"
        return "UPDATE \(clause())\(space())\(target) SET \(sets.joined(separator: ","))"
          + from.replacing("a, 1 = 1", with: "a = 1")
      case 2: return "REPLACE INTO \(target) (a, b) VALUES (\(value()), \(value()))"
      case 3:
        return "INSERT\(space())INTO \(target) (\"se,t\") SELECT \(value()) WHERE 1 "
          + "ON CONFLICT (\"se,t\") DO UPDATE SET b = 2, c = excluded.a"
      case 4: return "SELECT 1, \(value()) FROM book"
      default: return "INSERT \(clause()) INTO \(target) (a) VALUES (\(value())), (2)"
      }
    }
    let kind = one(["INSERT", "UPDATE", "UPDATE OF a, [c]"])
    table = one(Self.tables)
    let time = one(["", "BEFORE", "AFTER"])
    let when = one(["", "", " WHEN NEW.\"end\" > 1", " WHEN CASE WHEN NEW.a THEN 1 END"])
    let body = (0...Int.random(in: 0...3, using: &random)).map { _ in statement() + space() + ";" }
    sql =
      "CREATE TRIGGER \(one(["plain", "\"on\"", "[BEGIN x]"])) \(time)\(space())\(kind) ON "
      + "\(quoted(table).replacing("BooK", with: "book"))\(one(["", " FOR EACH ROW"]))\(when) BEGIN "
      + body.joined(separator: space()) + " END"
    let name = "\"" + table.replacing("\"", with: "\"\"") + "\""
    firing =
      kind == "INSERT"
      ? "INSERT INTO \(name) (a) VALUES (1)" : "UPDATE \(name) SET a = 2, c = 3"
  }
}

/// A connection of SQLite's own, whose authorizer GRDB does not have.
private final class Compiler {
  private var connection: OpaquePointer?
  fileprivate var writes: Set<String> = []

  init(_ creation: String) throws {
    try #require(sqlite3_open(":memory:", &connection) == SQLITE_OK)
    try run(creation + "PRAGMA recursive_triggers = 0;")
  }

  deinit { sqlite3_close(connection) }

  private func run(_ sql: String) throws {
    let code = sqlite3_exec(connection, sql, nil, nil, nil)
    try #require(code == SQLITE_OK, "\(String(cString: sqlite3_errmsg(connection))): \(sql)")
  }

  /// What the only trigger writes when a statement fires it.
  func writes(of trigger: String, firing: String) throws -> Set<String> {
    try run(trigger)
    sqlite3_set_authorizer(
      connection,
      { context, action, first, second, _, trigger in
        guard trigger != nil, let first else { return SQLITE_OK }
        let compiler = Unmanaged<Compiler>.fromOpaque(context!).takeUnretainedValue()
        let table = String(cString: first)
        switch action {
        case SQLITE_INSERT: compiler.writes.insert("insert \(table)")
        case SQLITE_DELETE: compiler.writes.insert("delete \(table)")
        case SQLITE_UPDATE:
          compiler.writes.insert("update \(table).\(second.map { String(cString: $0) } ?? "")")
        default: break
        }
        return SQLITE_OK
      }, Unmanaged.passUnretained(self).toOpaque())
    defer { sqlite3_set_authorizer(connection, nil, nil) }
    var statement: OpaquePointer?
    let code = sqlite3_prepare_v2(connection, firing, -1, &statement, nil)
    sqlite3_finalize(statement)
    try #require(code == SQLITE_OK, "\(String(cString: sqlite3_errmsg(connection))): \(trigger)")
    return Set(writes.map(\.folded))
  }
}
