import GRDB
import Tern
import TestDevice
import Testing

@Suite("Undo: folded rows")
struct UndoFoldTests {
  @Test(arguments: [
    "DELETE FROM tag WHERE id = '2'", "UPDATE tag SET name = 'x' WHERE id = '2'",
    "UPDATE tag SET name = 'x' WHERE id = '1'", "DELETE FROM tag WHERE id = '1'",
    "DELETE FROM tag", "UPDATE tag SET name = id",
  ])
  func `what collides again is folded again, with its uses`(_ statement: String) async throws {
    let (a, b) = try FoldedTags.pair()
    try a.commit(statement)
    _ = try await a.replica.undo()
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT name FROM tag ORDER BY id") == ["meals", "Meals"])
      #expect(try device.column("SELECT count(*) FROM tag WHERE sameAs IS NOT NULL") == ["1"])
      #expect(try device.column("SELECT tag FROM use") == ["2"])
      #expect(try device.store.counts().quarantined == 0)
    }
    #expect(try a.foldedTags == b.foldedTags)
  }

  @Test(arguments: ["id = '2'", "id = '1'", "1"])
  func `rows that a file has folded come back folded, with their uses`(_ which: String) async throws
  {
    let (a, b) = try FoldedTags.pair()
    try await a.withKeptFile { path in
      try a.commit("DELETE FROM tag WHERE \(which)")
      let restored = try await a.replica.restoreRows(fromFile: path)
      #expect(restored.rows.allSatisfy { $0.left.isEmpty })
    }
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT name FROM tag ORDER BY id") == ["meals", "Meals"])
      #expect(try device.column("SELECT count(*) FROM tag WHERE sameAs IS NOT NULL") == ["1"])
      #expect(try device.column("SELECT tag FROM use") == ["2"])
    }
    #expect(try a.foldedTags == b.foldedTags)
  }
}
