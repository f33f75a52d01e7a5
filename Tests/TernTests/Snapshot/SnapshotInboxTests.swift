import Tern
import TernTesting
import TestDevice
import Testing

@Suite("Snapshot: the inbox and a loaded snapshot")
struct SnapshotInboxTests {
  @Test func `INV-10: what lost stays in the inbox, and what a loaded snapshot beats comes to it`()
    throws
  {
    let (a, b) = (try Shelf.device(1), try Shelf.device(2))
    try a.commit("INSERT INTO book (id, title) VALUES ('1', 'x'), ('2', 'y')")
    try meet(a, b)
    try b.commit("UPDATE book SET title = 'b' WHERE id = '1'")
    try a.commit("UPDATE book SET title = 'a' WHERE id = '1'")
    try meet(a, b)
    let standing = try #require(try b.column("SELECT title FROM book WHERE id = '1'")[0])
    let before = try b.database.read { try b.replica.inbox(in: $0) }
    #expect(before.map(\.values) == [["title": .string(standing == "a" ? "b" : "a")]])
    try a.commit("DELETE FROM book WHERE id = '2'")
    try b.commit("UPDATE book SET title = 'late' WHERE id = '2'")
    try b.load(Parts(of: a))
    let after = try b.database.read { try b.replica.inbox(in: $0) }.sorted { $0.id < $1.id }
    #expect(after.count == 2 && after.first == before.first)
    let late = try #require(after.last)
    #expect(late.kind == .deleteWins && late.key == ["2"] && late.loser?.isOwn == true)
    #expect(late.values["title"] == .string("late"))
    try expectEqual(a, b, "shelf", "book", "note")
  }
}
