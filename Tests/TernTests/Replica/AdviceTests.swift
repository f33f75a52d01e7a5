import Foundation
import GRDB
import Tern
import TernCore
import TestDevice
import Testing

/// What a job that opens or writes a replica is told about trying again.
@Suite("Replica: what a job is told about trying again")
struct AdviceTests {
  private func advice(_ body: () throws -> Void) -> FailureAdvice? {
    do {
      try body()
      return nil
    } catch {
      return (error as? any AdvisingError)?.advice
    }
  }

  @Test func `what no repetition mends says so`() throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("item")])
    let database = try DatabaseQueue()
    #expect(advice { _ = try Device(schema, id: 1, database: database) } == .permanent)
    try database.write { try $0.execute(sql: "CREATE TABLE item (id TEXT NOT NULL PRIMARY KEY)") }
    #expect(
      advice { _ = try Device(database, schema, id: 1, name: "no name") } == .permanent)
    let (a, b) = (
      try Device(schema, id: 1, database: database),
      try Device(schema, id: 2) {
        try $0.execute(sql: "CREATE TABLE item (id TEXT NOT NULL PRIMARY KEY)")
      }
    )
    for key in ["1", "2"] {
      try a.execute("INSERT INTO item VALUES (?)", [key])
      try a.store.seal()
    }
    let absent = "/nowhere/\(UUID().uuidString)"
    #expect(advice { _ = try DatabaseFileInspection(path: absent) } == .permanent)
    let second = try a.store.operations(lackedBy: VersionVector(), maximumBytes: .max).suffix(1)
    #expect(advice { try b.merge(Array(second)) } == .permanent)
  }

  /// A job that syncs loses no attempt while nobody is there.
  @Test(arguments: [
    (RemoteError(.unreachable, ""), FailureAdvice.unreachable),
    (RemoteError(.busy, ""), .unreachable),
    (RemoteError(.unavailable, ""), .failed),
    (RemoteError(.unavailable, "", retryAfter: .seconds(3)), .limited(delay: .seconds(3))),
    (RemoteError(.unexpectedAnswer, ""), .failed), (RemoteError(.unauthorized, ""), .permanent),
    (RemoteError(.tooManyReplicas, ""), .permanent), (RemoteError(.local, ""), .permanent),
    (RemoteError(.foreignOwn, "", retryAfter: .seconds(3)), .permanent),
    (RemoteError(RemoteError.Code(rawValue: "of-tomorrow"), ""), .permanent),
  ])
  func `what a remote said decides whether a job that syncs tries again`(
    _ error: RemoteError, _ advice: FailureAdvice
  ) {
    #expect((error as any Error as? any AdvisingError)?.advice == advice)
  }

  @Test func `a database that another connection holds says nothing against the next attempt`() {
    for (code, advice) in [
      (ResultCode.SQLITE_BUSY, FailureAdvice.unreachable), (.SQLITE_FULL, .permanent),
    ] {
      let cause = DatabaseError(resultCode: code)
      let setup = DatabaseSetupError(
        .durabilityNotApplied, database: "", underlyingError: cause)
      let inspection = InspectionError(.unreadable, path: "", underlyingError: cause)
      #expect((setup as any Error as? any AdvisingError)?.advice == advice)
      #expect((inspection as any Error as? any AdvisingError)?.advice == advice)
    }
  }
}
