#if Server
import Tern
import Testing

@testable import TernServer

/// The stores that every conformance test runs on.
enum StoreKind: CaseIterable, CustomTestStringConvertible {
  case memory, sqlite, postgreSQL, pgBouncer

  /// PostgreSQL where there is one.
  static var allCases: [StoreKind] {
    [.memory, .sqlite] + (TestDatabase.address == nil ? [] : [.postgreSQL])
      + (TestDatabase.poolAddress == nil ? [] : [.pgBouncer])
  }

  var testDescription: String {
    switch self {
    case .memory: "memory"
    case .sqlite: "SQLite"
    case .postgreSQL: "PostgreSQL"
    case .pgBouncer: "PostgreSQL behind PgBouncer"
    }
  }

  func open() throws -> StoreUnderTest {
    switch self {
    case .memory:
      var generator = SeededGenerator(state: 1)
      return StoreUnderTest(store: MemorySpaceStore(using: &generator), examination: nil)
    case .sqlite:
      let folder = try TemporaryFolder()
      let store = try openStore(folder.path("server.tern"))
      return StoreUnderTest(store: store, examination: Examination(of: store, in: folder))
    case .postgreSQL, .pgBouncer:
      let database = try TestDatabase(behindPool: self == .pgBouncer)
      return StoreUnderTest(
        store: try database.open(), examination: database)
    }
  }
}

/// What is looked at when the last who uses a store goes.
protocol AnyExamination: AnyObject, Sendable {}

/// Finds nothing broken in a store's file when the last who uses it goes.
final class Examination: AnyExamination {
  private let store: SQLiteSpaceStore
  private let folder: TemporaryFolder

  init(of store: SQLiteSpaceStore, in folder: TemporaryFolder) {
    (self.store, self.folder) = (store, folder)
  }

  deinit {
    do {
      try expectHealthy(store)
    } catch {
      Issue.record(error)
    }
  }
}

/// The doctor has no finding.
func expectHealthy(
  _ store: SQLiteSpaceStore, location: SourceLocation = #_sourceLocation
) throws {
  let diagnosis = try store.pool.read { try DatabaseDiagnosis($0, other: ServerDoctor.look) }
  #expect(diagnosis.findings.map { "\($0)" } == [], sourceLocation: location)
}

/// A store, with what is done after its use.
struct StoreUnderTest {
  let store: any SpaceStore
  let examination: (any AnyExamination)?
  let clock = HandClock()

  func service(_ change: (inout ServerLimits) -> Void = { _ in }) -> SpaceService {
    var limits = ServerLimits()
    change(&limits)
    let (clock, examination) = (clock, examination)
    let lasting = ServerClock { withExtendedLifetime(examination) { clock.date } }
    return SpaceService(store: store, clock: lasting, limits: limits)
  }
}
#endif
