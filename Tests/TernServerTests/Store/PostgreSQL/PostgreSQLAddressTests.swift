#if PostgreSQL
import CPostgreSQL
import Foundation
import Testing

@testable import TernServer

@Suite("PostgreSQL: how a database is reached", .timeLimit(.minutes(1)))
struct PostgreSQLAddressTests {
  @Test(arguments: [
    ("postgresql:///tern", true), ("postgresql:///tern?host=/run/postgresql", true),
    ("postgresql://tern@localhost/tern", true), ("postgresql://tern@127.0.0.1:5433/tern", true),
    ("postgresql://tern@[::1]/tern", true), ("postgresql://localhost,127.8.9.1/tern", true),
    ("host=@socket", true),
    ("postgresql://db.example.org/tern", false), ("postgresql://localhost,db/tern", false),
    ("postgresql://127.0.0.1.example.org/tern", false), ("postgresql://127.1/tern", false),
    ("postgresql://localhost/tern?hostaddr=10.0.0.1", false), ("service=there", false),
    ("postgresql://10.0.0.1/tern", false), ("postgresql://localhost.example.org/tern", false),
  ])
  func `a certificate is not asked of this machine alone`(_ address: String, _ isLocal: Bool) throws
  {
    let options = try #require(PQconninfoParse(address, nil))
    defer { PQconninfoFree(options) }
    #expect(PostgreSQLAddress(options).isLocal == isLocal)
  }

  @Test func `a password's file loses its last lines' ends, and has to have one`() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("password")
    for (text, password) in [("a b\n", "a b"), ("a\r\n\n", "a"), (" a", " a"), ("é", "é")] {
      try Data(text.utf8).write(to: URL(fileURLWithPath: path))
      #expect(try PasswordFile(path: path).read() == password)
    }
    try Data("\n".utf8).write(to: URL(fileURLWithPath: path))
    for path in [path, folder.path("absent")] {
      let error = #expect(throws: StoreError.self) { try PasswordFile(path: path).read() }
      #expect(error?.code == .inaccessible && error?.message.contains(path) ?? false)
    }
  }

  @Test(.enabled(if: TestDatabase.address != nil, "script/test starts a database"))
  func `the password's file is read at each new connection`() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("password")
    let address = try #require(TestDatabase.address)
    let pool = PostgreSQLPool(
      address, password: PasswordFile(path: path), connections: 2, patience: .seconds(10),
      prepare: { _ in })
    defer { pool.close() }
    #expect(throws: StoreError.self) { try pool.withConnection { _ in } }
    try Data("secret".utf8).write(to: URL(fileURLWithPath: path))
    try pool.withConnection { _ in
      try FileManager.default.removeItem(atPath: path)
      // Only a second one is new.
      #expect(throws: StoreError.self) { try pool.withConnection { _ in } }
    }
    try pool.withConnection { _ in }
    #expect(pool.connections == StoreConnections(inUse: 0, limit: 2))
  }
}
#endif
