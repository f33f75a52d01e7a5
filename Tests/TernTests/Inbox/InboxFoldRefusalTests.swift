import GRDB
import Tern
import TestDevice
import Testing

@Suite("Inbox: folded rows that are not shown")
struct InboxFoldRefusalTests {
  @Test func `a row is not shown with a name that another has`() async throws {
    let (a, _) = try FoldedTags.pair()
    try a.commit("INSERT INTO tag VALUES ('3', 'lunch', NULL, NULL, NULL)")
    let entry = try #require(try await a.replica.inbox(of: [.folded]).first)
    for name in ["lunch", "MEALS"] {
      let error = await #expect(throws: InboxError.self) {
        try await a.database.write { db in
          try a.replica.show(entry, with: [Column("name"): name], in: db)
        }
      }
      #expect(error?.code == .refused)
    }
    await #expect(throws: InboxError.self) {
      try await a.database.write { try a.replica.show(entry, in: $0) }
    }
    try await a.database.write { db in
      try a.replica.show(entry, with: [Column("name"): "supper"], in: db)
    }
    try a.store.seal()
    #expect(try a.foldedTags == ["1 -", "2 -", "3 -"])
  }

  @Test func `a hidden entry stays hidden while the app writes a local column`() async throws {
    let (a, _) = try FoldedTags.pair()
    try await a.replica.dismiss(try #require(try await a.replica.inbox().first))
    try a.commit("UPDATE tag SET seen = 'now' WHERE id = '2'")
    #expect(try await a.replica.inbox().isEmpty)
    try a.commit("UPDATE tag SET color = 'green' WHERE id = '2'")
    #expect(try await a.replica.inbox().count == 1)
  }
}
