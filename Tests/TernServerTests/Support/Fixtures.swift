#if Server
import Foundation
import Synchronization
import TernCore
import TernServer

/// SplitMix64, for ids and tokens that repeat.
struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

/// A clock that stands until it is set.
final class HandClock: Sendable {
  private let milliseconds = Mutex<Int64>(1_000_000)

  var now: Int64 {
    get { milliseconds.withLock { $0 } }
    set { milliseconds.withLock { $0 = newValue } }
  }

  var date: Date { Date(milliseconds: now) }
  var clock: ServerClock { ServerClock { self.date } }
}

/// A folder that goes with its object.
final class TemporaryFolder: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("tern-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}

extension SpaceName {
  static let home = SpaceName(stored: "home")
  static let work = SpaceName(stored: "work")
}

func openStore(
  _ path: String, seed: UInt64 = 1, slowStatements: SlowStatements? = nil
) throws -> SQLiteSpaceStore {
  var generator = SeededGenerator(state: seed)
  return try SQLiteSpaceStore(path: path, using: &generator, slowStatements: slowStatements)
}

/// Every operation of a space, page after page.
func everything(_ service: SpaceService, _ space: SpaceName = .home) throws -> [SyncOperation] {
  var operations: [SyncOperation] = []
  var cursor: RemoteCursor?
  while true {
    let page = try service.pull(from: space, after: cursor)
    operations += page.operations
    cursor = page.cursor
    if !page.hasMore { return operations }
  }
}

/// The error that `body` throws, or `nil`.
func refusal(_ body: () throws -> Void) -> RemoteError? {
  do {
    try body()
    return nil
  } catch {
    return error as? RemoteError
  }
}
#endif
