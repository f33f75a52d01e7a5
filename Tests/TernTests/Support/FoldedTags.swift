import GRDB
import Tern
import TestDevice

/// Two tags of one name, of which the second is folded into the first and has a use.
enum FoldedTags {
  private static let creation = """
    CREATE TABLE tag (
      id TEXT NOT NULL PRIMARY KEY, name TEXT COLLATE NOCASE, color, seen, sameAs TEXT);
    CREATE UNIQUE INDEX tag_name ON tag (name) WHERE sameAs IS NULL;
    CREATE TABLE use (id TEXT NOT NULL PRIMARY KEY, tag TEXT REFERENCES tag ON DELETE CASCADE);
    """

  static func emptyPair(_ deletes: DeleteRule = .deleteWins) throws -> (Device, Device) {
    let tag = SyncTable(
      "tag", deletes: deletes, local: ["seen"], collisions: .fold(into: "sameAs"))
    return try Device.pair(
      SyncSchema(version: 1, tables: [tag, SyncTable("use", deletes: deletes)]), creation)
  }

  static func pair(_ deletes: DeleteRule = .deleteWins) throws -> (Device, Device) {
    let (a, b) = try emptyPair(deletes)
    try a.commit("INSERT INTO tag VALUES ('1', 'meals', 'red', 'a', NULL)")
    try delay(b, after: a)
    try b.commit(
      """
      INSERT INTO tag VALUES ('2', 'Meals', 'blue', 'b', NULL); INSERT INTO use VALUES ('u', '2')
      """)
    try meetTwice(a, b)
    return (a, b)
  }
}

extension Device {
  /// Each tag with the one that it points to.
  var foldedTags: [String?] {
    get throws { try column("SELECT id || ' ' || ifnull(sameAs, '-') FROM tag ORDER BY id") }
  }
}
