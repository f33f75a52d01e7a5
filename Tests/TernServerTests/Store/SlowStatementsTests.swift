#if Server
import Synchronization
import Testing

@testable import TernServer

@Suite("Store: statements that take long")
struct SlowStatementsTests {
  @Test func `one that takes as long as the threshold is told of, in one line`() {
    let told = Mutex<[String]>([])
    let slow = SlowStatements(threshold: .milliseconds(10)) { sql, time in
      told.withLock { $0.append("\(sql) \(time)") }
    }
    slow.note("SELECT 1", .milliseconds(9))
    slow.note("  SELECT\n    2 ", .milliseconds(10))
    slow.note(String(repeating: "a", count: 301), .seconds(1))
    #expect(
      told.withLock { $0 } == [
        "SELECT 2 0.01 seconds", String(repeating: "a", count: 300) + "… 1.0 seconds",
      ])
  }
}
#endif
