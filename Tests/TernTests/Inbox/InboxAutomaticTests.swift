import GRDB
import Tern
import TestDevice
import Testing

private let creation = """
  CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, title TEXT, body TEXT, updated_at TEXT, seen)
  """

private func schema(_ deletes: DeleteRule = .deleteWins, _ automatic: Set<String> = ["UPDATED_AT"])
  -> SyncSchema
{
  SyncSchema(
    version: 1,
    tables: [SyncTable("note", deletes: deletes, local: ["seen"], automatic: automatic)])
}

private struct Note: Codable, FetchableRecord, PersistableRecord {
  enum Columns {
    static let updatedAt = Column("updated_at")
  }
  var id: String
}

@Suite("Inbox: columns that nobody writes by hand")
struct InboxAutomaticTests {
  private func pair(_ deletes: DeleteRule = .deleteWins) throws -> (Device, Device) {
    let (a, b) = try Device.pair(schema(deletes), creation)
    try a.commit(
      "INSERT INTO note (id, title, updated_at) VALUES ('1', 'one', '10:00'), ('2', 'two', '10:00')"
    )
    try meet(a, b)
    return (a, b)
  }

  @Test func `one that lost alone makes no entry, and one that lost with others is in theirs`()
    throws
  {
    let (a, b) = try pair()
    try a.commit("UPDATE note SET updated_at = '11:00' WHERE id = '1'")
    try a.commit("UPDATE note SET title = 'a', updated_at = '11:00' WHERE id = '2'")
    try b.commit("UPDATE note SET updated_at = '12:00' WHERE id = '1'")
    try b.commit("UPDATE note SET title = 'b', updated_at = '12:00' WHERE id = '2'")
    try meet(a, b)
    for device in [a, b] {
      let listed = try device.listedEntries
      #expect(listed == ["lastWriter note ['2']"], "\(listed)")
      #expect(try device.inbox[0].values.keys.sorted() == ["title", "updated_at"])
    }
    let counts = try a.store.counts().conflicts
    #expect(counts == [.lastWriter: 3], "\(counts)")
    try expectEqual(a, b)
  }

  @Test(arguments: [DeleteRule.deleteWins, .lastWriter])
  func `a delete that covers nothing else makes none, here and where the change comes late`(
    _ rule: DeleteRule
  ) throws {
    let (a, b) = try pair(rule)
    try b.commit("UPDATE note SET updated_at = '11:00' WHERE id = '1'")
    try b.commit("UPDATE note SET title = 'late', updated_at = '11:00' WHERE id = '2'")
    try delay(a, after: b)
    try a.commit("DELETE FROM note")
    try meet(a, b)
    for device in [a, b] { #expect(try device.listedEntries == ["deleteWins note ['2']"]) }
    try expectEqual(a, b)
  }

  @Test func `a name that the table lacks is refused, with the others`() throws {
    let wrong = schema(.deleteWins, ["modified", "id", "updated_at"])
    let error = #expect(throws: SchemaError.self) {
      _ = try Device(wrong, id: 1) { try $0.execute(sql: creation) }
    }
    let errors = error.map { [$0] + $0.others } ?? []
    #expect(errors.map(\.column) == ["id", "modified"])
    #expect(errors.allSatisfy { $0.message.contains("the table has no such column") })
  }

  @Test func `a record type names them`() {
    let table = SyncTable(Note.self, automatic: [Note.Columns.updatedAt])
    #expect(table.automatic == ["updated_at"])
  }
}
