import Tern
import Testing

/// INV-01: above the horizon of whoever forgot more, both are the same.
func expectSame(
  _ a: Device, _ b: Device, _ tables: String..., location: SourceLocation = #_sourceLocation
) throws {
  let horizon = try max(a.store.horizon(), b.store.horizon())
  #expect(
    try a.store.canonicalState().above(horizon) == b.store.canonicalState().above(horizon),
    sourceLocation: location)
  for table in tables {
    #expect(try a.exactly(table) == b.exactly(table), sourceLocation: location)
  }
  for device in [a, b] { try expectHealthy(device, location: location) }
}
