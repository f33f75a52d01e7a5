import Rehearsals
import Testing

/// Drawn schemas, statements, triggers, migrations, copies, remotes and trimmed logs, over seeds.
@Suite("Merge: schemas that nobody wrote, over seeds")
struct SchemaPropertyTests {
  @Test(arguments: Rehearsal.seeds(1...2000, short: 100))
  func `INV-01, INV-03: Tern changes no statement, and equal states give equal tables`(
    _ seed: UInt64
  ) async throws {
    try await DrawnWorld(seed: seed).run()
  }
}
