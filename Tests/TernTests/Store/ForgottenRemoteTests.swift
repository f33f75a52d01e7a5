import GRDB
import Tern
import TestDevice
import Testing

@Suite("Store: a remote that is forgotten")
struct ForgottenRemoteTests {
  @Test func `what it said of banned replicas holds no more, and other remotes are asked again`()
    throws
  {
    let schema = SyncSchema(version: 1, tables: [SyncTable("shelf")])
    let (a, b) = try Device.pair(schema, "CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY)")
    for id in ["1", "2"] { try b.commit("INSERT INTO shelf VALUES ('\(id)')") }
    let banned = RemoteAuthor(bannedAfter: 1)
    try a.store.note([b.store.replicaID(): banned], at: "former")
    try a.store.resetPlace(
      RemotePlace(remoteID: "home", epoch: "e", cursor: RemoteCursor(rawValue: "2")))
    try a.pull(from: b)
    #expect(try a.column("SELECT id FROM shelf") == ["1"])
    #expect(try a.store.forget(remoteID: "former"))
    #expect(try a.store.place(at: "home")?.cursor == nil)
    try a.pull(from: b)
    #expect(try a.column("SELECT id FROM shelf ORDER BY id") == ["1", "2"])
    #expect(try !a.store.forget(remoteID: "former"))
  }
}
