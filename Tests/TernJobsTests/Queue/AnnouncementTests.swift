import Foundation
import GRDB
import Tern
import TernJobs
import TestProcesses
import Testing

@Suite("Queue: announcements of another connection", .timeLimit(.minutes(1)))
struct AnnouncementTests {
  /// Two connections to one file, as two processes have them.
  private func withTwo(_ body: (JobQueue, JobQueue) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "tern-announcements-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "app.sqlite").path
    var configuration = Configuration()
    configuration.busyMode = .timeout(30)
    #if os(Linux)
    // What is found, the system told.
    let environment = JobEnvironment(
      pollInterval: .seconds(3600), clockInterval: .seconds(3600))
    #else
    let environment = JobEnvironment()
    #endif
    let first = try await JobQueue.open(
      DatabasePool(path: path, configuration: configuration), environment: environment)
    let second = try await JobQueue.open(
      DatabasePool(path: path, configuration: configuration), environment: environment)
    try await body(first, second)
  }

  @Test func `what another connection announces or enqueues is told`() async throws {
    try await withTwo { first, second in
      var news = first.announcements().makeAsyncIterator()
      try await second.database.write { try second.announce(in: $0) }
      #expect(await news.next() != nil)
      try await second.database.write { _ = try second.enqueue(Tidy(name: "x"), in: $0) }
      #expect(await news.next() != nil)
    }
  }
}
