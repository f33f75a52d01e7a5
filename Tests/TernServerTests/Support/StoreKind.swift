#if Server
import Testing
import TernServer

/// The stores that every conformance test runs on.
enum StoreKind: CaseIterable, CustomTestStringConvertible {
  case memory, sqlite

  var testDescription: String {
    switch self {
    case .memory: "memory"
    case .sqlite: "SQLite"
    }
  }

  func open() throws -> StoreUnderTest {
    switch self {
    case .memory:
      var generator = SeededGenerator(state: 1)
      return StoreUnderTest(store: MemorySpaceStore(using: &generator), folder: nil)
    case .sqlite:
      let folder = try TemporaryFolder()
      return StoreUnderTest(store: try openStore(folder.path("server.tern")), folder: folder)
    }
  }
}

/// A store, with the folder that it needs while it is used.
struct StoreUnderTest {
  let store: any SpaceStore
  let folder: TemporaryFolder?
  let clock = HandClock()

  func service(_ change: (inout ServerLimits) -> Void = { _ in }) -> SpaceService {
    var limits = ServerLimits()
    change(&limits)
    return SpaceService(store: store, clock: clock.clock, limits: limits)
  }
}
#endif
