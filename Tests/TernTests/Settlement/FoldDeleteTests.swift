import GRDB
import Tern
import TestDevice
import Testing

@Suite("Settlement: folded rows that go and come back")
struct FoldDeleteTests {
  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `a delete and a change that meet leave equal tables`(_ deletes: DeleteRule) throws {
    for (id, other) in [("2", "1"), ("1", "2")] {
      let (a, b) = try FoldedTags.pair(deletes)
      try a.commit("DELETE FROM tag WHERE id = '\(id)'")
      try delay(b, after: a)
      try b.commit("UPDATE tag SET color = 'green' WHERE id = '\(id)'")
      try meetTwice(a, b)
      for device in [a, b] {
        let tags = try device.foldedTags
        #expect(
          tags == (deletes == .deleteWins ? ["\(other) -"] : ["1 -", "2 1"]), "\(deletes) \(id)")
        #expect(try device.store.counts().quarantined == 0)
        #expect(
          try device.database.read { try DatabaseDiagnosis($0) }.findings
            .allSatisfy { $0.check == "held" })
      }
      #expect(try a.store.canonicalState() == b.store.canonicalState())
    }
  }

  @Test func `a row that is too large to travel yields, and stands in the order of its insert`()
    throws
  {
    let (a, b) = try FoldedTags.emptyPair()
    try a.commit("INSERT INTO tag VALUES ('1', 'meals', hex(zeroblob(8 << 20)), 'a', NULL)")
    try delay(b, after: a)
    try b.commit("INSERT INTO tag VALUES ('2', 'Meals', 'blue', 'b', NULL)")
    try meetTwice(a, b)
    #expect(try a.foldedTags == ["1 2", "2 -"])
    #expect(try b.foldedTags == ["2 -"])
    try a.commit("UPDATE tag SET color = 'red' WHERE id = '1'")
    try meetTwice(a, b)
    for device in [a, b] { #expect(try device.foldedTags == ["1 2", "2 -"]) }
  }
}
