#if Server
import Foundation
import Logging
import TernServer

/// The spaces of an app's accounts: one for each, and a token for each of its devices.
struct Accounts {
  let service: SpaceService
  /// One process serves a file; it ends with the process.
  private let lock: ServingLock

  init(path: String) throws {
    lock = try ServingLock(dataPath: path)
    var generator = SystemRandomNumberGenerator()
    let store = try SQLiteSpaceStore(path: path, using: &generator)
    var limits = ServerLimits()
    limits.fitOpenFiles()
    service = SpaceService(store: store, clock: .system, limits: limits)
  }

  /// What the backend answers a device that has signed in.
  func token(for account: UUID) throws -> String {
    var generator = SystemRandomNumberGenerator()
    return try service.createToken(for: SpaceName(account.uuidString), using: &generator)
  }

  /// When a device signs out, or is lost.
  func revoke(_ token: String) throws {
    try service.revoke(token)
  }

  func delete(_ account: UUID) throws {
    try service.removeSpace(SpaceName(account.uuidString))
  }

  func serve(port: Int, logger: Logger) async throws {
    let server = TernServerApplication(service: service, port: port, logger: logger)
    try await server.run(until: [.sigterm, .sigint])
  }
}
#endif
