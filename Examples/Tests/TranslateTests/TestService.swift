import ExampleService
import Foundation
import InterpreterKit
import Logging
import Synchronization
import Tern
import TernNetwork

/// The interpreter in this process.
struct TestService: Sendable {
  static let isInstalled = {
    let apertium = Apertium()
    return apertium.pair(from: "en", to: "es") != nil && apertium.pair(from: "es", to: "fr") != nil
  }()
  /// Shared, so that its programs start once for all tests.
  static let apertium = Apertium()

  let url: String

  static func run(
    _ misbehaviour: String = "", key: String? = nil, port: Int = 0,
    _ body: @escaping @Sendable (TestService) async throws -> Void
  ) async throws {
    var application = InterpreterApplication(apertium)
    application.logger = Logger(label: "interpreter") { _ in SwiftLogNoOpLogHandler() }
    application.misbehaviour = try Misdeed.list(misbehaviour)
    application.key = key
    application.port = port
    try await application.serving { url in
      try await body(TestService(url: url.absoluteString))
    }
  }

  /// A folder whose device knows the service.
  static func withFolder(
    _ misbehaviour: String = "", key: String? = nil,
    body: @escaping @Sendable (TestService, TranslateFolder) async throws -> Void
  ) async throws {
    try await run(misbehaviour, key: key) { service in
      try await withTranslateFolder { folder in
        _ = try await folder("settings", "service", service.url)
        try await body(service, folder)
      }
    }
  }

  func counts() async throws -> InterpreterCounts {
    let service = HTTPService(URL(string: url)!)
    return try await service.answer(to: service.request(.get, "/control/counts")).json()
  }

  /// A port on which nobody listens any more.
  static func closedPort() async throws -> Int {
    let port = Mutex(0)
    try await run { service in
      port.withLock { $0 = URL(string: service.url)?.port ?? 0 }
    }
    return port.withLock { $0 }
  }
}
