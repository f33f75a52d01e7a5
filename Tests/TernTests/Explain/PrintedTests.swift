import GRDB
import Tern
import TestDevice
import Testing

/// What people see who print what the library says.
@Suite("Explain: what people see who print it")
struct PrintedTests {
  @Test func `a status names its phase, and what there is something of`() {
    var status = SyncStatus.Moment()
    #expect("\(status)" == "stopped")
    status.phase = .waiting
    (status.unpushed, status.quarantined, status.largeRows) = (2, 1, ["book": 3])
    status.clockOffset = .milliseconds(3)
    #expect(
      "\(status)" == "waiting, 2 to push, 1 quarantined, 3 rows of “book” too large to travel")
    status.skippedTriggers = [
      SkippedTrigger(name: "touch", table: "book", reason: "it sets “rev” of “book”, which syncs")
    ]
    status.clockOffset = .seconds(-60)
    #expect(
      "\(status)".hasSuffix(
        "travel, triggers that don't run for merged rows: “touch”, the remote's clock is ahead by "
          + "-60.0 seconds"))
    #expect(
      "\(status.skippedTriggers[0])"
        == "trigger “touch” on “book” does not run for rows that sync brings: it sets “rev” of "
        + "“book”, which syncs")
  }

  @Test func `counts name what there is something of`() {
    var counts = ReplicaCounts()
    #expect("\(counts)" == "0 operations")
    (counts.operations, counts.quarantined, counts.conflicts) = (
      7, 1, [.counter: 2, .lastWriter: 1]
    )
    counts.pending = PendingOperations(
      counts: [.unreadable: 1, .schema: 2],
      first: PendingOperation(
        replica: ReplicaID(high: 0, low: 1), sequence: 4, reason: .unreadable, detail: "too new"))
    #expect(
      "\(counts)"
        == "7 operations, 1 quarantined rows, operations wait: 1 for a newer Tern, 2 for a newer schema "
        + "(operation 4 of replica 00000000000000000000000000000001: too new), 1 conflicts by lastWriter, 2 conflicts by counter"
    )
  }

  @Test func `a reason to leave a column is a sentence's part`() {
    #expect("\(["title": UndoneOperation.Reason.changedSince])" == #"["title": written since]"#)
  }

  @Test func `what an insert leaves empty is not told of`() async throws {
    let schema = SyncSchema(
      version: 1, tables: [SyncTable("note", merge: ["n": .counter, "tags": .set, "body": .text])])
    let (a, _) = try Device.pair(
      schema,
      """
      CREATE TABLE note (
        id TEXT NOT NULL PRIMARY KEY, title, n INTEGER NOT NULL DEFAULT 0,
        tags TEXT NOT NULL DEFAULT '[]', body TEXT NOT NULL DEFAULT '');
      """)
    try a.commit("INSERT INTO note (id, title) VALUES ('1', 'T')")
    let first = try #require(try await a.replica.history("note", key: ["1"]).changes.first)
    #expect("\(first)".hasSuffix("generation 1: title: 'T'"))
    let empty = try await a.replica.explain("note", key: ["1"]).description
    for noise in ["added", "inserted", "+0", "nothing"] { #expect(!empty.contains(noise)) }
    try a.commit("UPDATE note SET n = 2, tags = '[\"x\"]', body = 'hello'")
    let second = try #require(try await a.replica.history("note", key: ["1"]).changes.last)
    #expect(
      "\(second)".hasSuffix("generation 1: n: +2, tags: added ['x'], body: inserted [\"hello\"]"))
    try a.commit("UPDATE note SET tags = '[]', body = ''")
    let third = try #require(try await a.replica.history("note", key: ["1"]).changes.last)
    #expect("\(third)".hasSuffix("generation 1: tags: took out ['x'], body: removed 5 scalars"))
  }
}
