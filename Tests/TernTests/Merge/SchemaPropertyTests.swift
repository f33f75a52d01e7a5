import Rehearsals
import Tern
import Testing

/// Drawn schemas, statements, triggers, migrations, copies, remotes and trimmed logs, over seeds.
@Suite("Merge: schemas that nobody wrote, over seeds")
struct SchemaPropertyTests {
  @Test(arguments: Rehearsal.seeds(1...2000, short: 100))
  func `INV-01, INV-03: Tern changes no statement, and equal states give equal tables`(
    _ seed: UInt64
  ) async throws {
    let world = try DrawnWorld(seed: seed)
    await #expect(throws: Never.self) { try await world.run() }
  }

  #if Rehearsal
  @Test(arguments: Planted.ofSchemas)
  func `a planted bug is caught within five hundred seeds`(_ bug: Planted) async throws {
    var caught: UInt64?
    for seed in try Rehearsal.seeds(1...500, catching: bug.rawValue) where caught == nil {
      do {
        try await Planted.throughout(bug) { try await DrawnWorld(seed: seed).run() }
      } catch let violation as DrawnWorld.Violation {
        print("\(bug.rawValue) caught by seed \(seed): \(violation.what.prefix(200))")
        caught = seed
      }
    }
    #expect(caught != nil)
  }
  #endif
}
