import ExampleService
import Foundation
import Synchronization
import Tern
import TernNetwork
import Testing

@testable import RecognizerKit

@Suite("Serving for as long as a body runs", .timeLimit(.minutes(1)))
struct ServingTests {
  private func application(port: Int = 0) -> RecognizerApplication {
    var application = RecognizerApplication(logger: .init(label: "tests"), read: { _, _ in })
    application.port = port
    return application
  }

  @Test func `it listens while the body runs, and not after it`() async throws {
    let place = Mutex<URL?>(nil)
    try await application().serving { url in
      place.withLock { $0 = url }
      let service = HTTPService(url)
      _ = try await service.answer(to: service.request(.get, "/control/counts"))
    }
    let service = HTTPService(try #require(place.withLock { $0 }))
    let error = await #expect(throws: HTTPError.self) {
      try await service.answer(to: service.request(.get, "/control/counts"))
    }
    #expect(error?.code == .connectionRefused)
  }

  @Test func `what the body throws is thrown, and what keeps it from beginning`() async throws {
    await #expect(throws: UnreadablePhoto.self) {
      try await application().serving { _ in throw UnreadablePhoto() }
    }
    try await application().serving { url in
      let taken = try #require(url.port)
      await #expect(throws: ListenError.self) {
        try await self.application(port: taken).serving { _ in
          Issue.record("two services listen on one port")
        }
      }
    }
  }
}
