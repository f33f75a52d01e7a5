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

  /// - Parameters:
  ///   - hasRules: whether a service writes, which keeps the rules that a store doesn't know.
  ///   - seed: another one makes a store of another epoch.
  ///   - slowStatements: who is told of statements that took long.
  func open(
    hasRules: Bool = true, seed: UInt64 = 1, slowStatements: SlowStatements? = nil
  ) throws -> StoreUnderTest {
    switch self {
    case .memory:
      var generator = SeededGenerator(state: seed)
      return StoreUnderTest(store: MemorySpaceStore(using: &generator), examination: nil)
    case .sqlite:
      let folder = try TemporaryFolder()
      let store = try openStore(
        folder.path("server.tern"), seed: seed, slowStatements: slowStatements)
      return StoreUnderTest(
        store: store, examination: Examination(of: store, in: folder, hasRules: hasRules))
    case .postgreSQL, .pgBouncer:
      let database = try TestDatabase(behindPool: self == .pgBouncer)
      return StoreUnderTest(
        store: try database.open(seed: seed, slowStatements: slowStatements), examination: database)
    }
  }
}

/// What is looked at when the last who uses a store goes.
protocol AnyExamination: AnyObject, Sendable {}

/// Finds nothing broken in a store's file when the last who uses it goes.
final class Examination: AnyExamination {
  private let store: SQLiteSpaceStore
  private let folder: TemporaryFolder
  private let hasRules: Bool

  init(of store: SQLiteSpaceStore, in folder: TemporaryFolder, hasRules: Bool = true) {
    (self.store, self.folder, self.hasRules) = (store, folder, hasRules)
  }

  deinit {
    do {
      try expectHealthy(store, hasRules: hasRules)
    } catch {
      Issue.record(error)
    }
  }
}

/// The doctor has no finding; without rules, none but of what only a service keeps.
func expectHealthy(
  _ store: SQLiteSpaceStore, hasRules: Bool = true, location: SourceLocation = #_sourceLocation
) throws {
  let rules: Set = [
    "author", "base", "snapshot-cursor", "snapshot-heads", "state-report", "trimmed-lost",
  ]
  let diagnosis = try store.pool.read { try DatabaseDiagnosis($0, other: ServerDoctor.look) }
  let findings = diagnosis.findings.filter { hasRules || !rules.contains($0.check) }
  #expect(findings.map { "\($0)" } == [], sourceLocation: location)
}

/// A store, with what is done after its use.
struct StoreUnderTest {
  let store: any SpaceStore
  let examination: (any AnyExamination)?
  let clock = HandClock()

  /// The same data in another object, as after a restart.
  func reopened() throws -> any SpaceStore {
    switch store {
    case let store as MemorySpaceStore: return MemorySpaceStore(copying: store)
    case let store as SQLiteSpaceStore: return try openStore(store.pool.path, seed: 2)
    default:
      #if PostgreSQL
      if let database = examination as? TestDatabase { return try database.open(seed: 2) }
      #endif
      preconditionFailure("a kind of store that nobody reopens: \(type(of: store))")
    }
  }

  func service(_ change: (inout ServerLimits) -> Void = { _ in }) -> SpaceService {
    var limits = ServerLimits()
    change(&limits)
    let (clock, examination) = (clock, examination)
    let lasting = ServerClock { withExtendedLifetime(examination) { clock.date } }
    return SpaceService(store: store, clock: lasting, limits: limits)
  }
}
#endif
