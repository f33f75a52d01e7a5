#if PostgreSQL
import Foundation
import TernCore
import Testing

@testable import TernServer

@Suite(
  "PostgreSQL: what processes tell each other",
  .enabled(if: TestDatabase.address != nil, "script/test starts a database"))
struct AnnouncementTests {
  private let database: TestDatabase

  init() throws { database = try TestDatabase() }

  /// A space's name with 64 bytes.
  private func name(_ number: Int) -> SpaceName {
    SpaceName(stored: String(repeating: "s", count: 60) + "\(1000 + number)")
  }

  private func heard(by store: PostgreSQLSpaceStore, _ count: Int) throws -> Set<SpaceName> {
    var heard: Set<SpaceName> = []
    for _ in 0..<10 where heard.count < count {
      heard.formUnion(try store.announced(within: .seconds(1)))
    }
    return heard
  }

  @Test func `what one announces others hear, however much it is, and it does not`() throws {
    let address = try #require(TestDatabase.address)
    let (one, two) = (
      try database.open(seed: 1, listeningAt: address),
      try database.open(seed: 2, listeningAt: address)
    )
    #expect(one.announces && two.announces)
    try one.announce([.home])
    #expect(try heard(by: two, 1) == [.home])
    let many = Set((0..<1000).map { name($0) })
    try one.announce(many)
    #expect(try heard(by: two, 1000) == many)
    #expect(try one.announced(within: .zero) == [])
    // Of another schema of the database nothing is heard.
    let other = try TestDatabase()
    let three = try other.open(seed: 3, listeningAt: address)
    try one.announce([.work])
    #expect(try heard(by: two, 1) == [.work])
    #expect(try three.announced(within: .milliseconds(1)) == [])
  }

  @Test func `a connection that ended is made anew`() throws {
    let address = try #require(TestDatabase.address)
    let (one, two) = (
      try database.open(seed: 1, listeningAt: address),
      try database.open(seed: 2, listeningAt: address)
    )
    try database.run(
      """
      SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity
      WHERE query LIKE 'LISTEN%' AND pid <> pg_backend_pid()
      """)
    // What the server says last comes before the end.
    #expect(throws: PostgreSQLError.self) {
      for _ in 0..<3 { _ = try two.announced(within: .seconds(1)) }
    }
    #expect(try two.announced(within: .zero) == [])
    try one.announce([.home])
    #expect(try heard(by: two, 1) == [.home])
  }

  /// A pool in transaction mode takes LISTEN, and hands the connection to somebody else.
  @Test(.enabled(if: TestDatabase.poolAddress != nil, "script/test starts a pool"))
  func `an address that hears nothing is refused at the start`() throws {
    let pool = try #require(TestDatabase.poolAddress)
    let error = #expect(throws: StoreError.self) {
      try database.open(listeningAt: pool) { $0.patience = .seconds(5) }
    }
    #expect(error?.code == .inaccessible)
    #expect("\(try #require(error))".contains("hears no notification"))
  }

  @Test func `a server of an older timeline is no primary`() throws {
    let store = try database.open()
    #expect(store.timeline == 1)
    let newest = NewestTimeline()
    try newest.note(2)
    let error = #expect(throws: StoreError.self) { try newest.note(store.timeline) }
    #expect("\(try #require(error))".contains("timeline 1"))
    try newest.note(3)
    #expect(newest.value == 3)
  }
}
#endif
