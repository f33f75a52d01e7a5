#if Server && PostgreSQL && Rehearsal && os(Linux)
import Foundation
import Rehearsals
import TernCore
import TestProcesses
import Testing

private let isInstalled = ["/usr/sbin/pgbouncer", "/usr/sbin/haproxy", "/usr/lib/postgresql"]
  .allSatisfy { FileManager.default.fileExists(atPath: $0) }

/// Three servers on one PostgreSQL, and what they and their database suffer: `script/history`.
@Suite(
  "Histories of several servers", .serialized, .timeLimit(.minutes(10)),
  .enabled(if: isInstalled, "script/test installs PostgreSQL, PgBouncer and haproxy"))
struct HistoryTests {
  /// - Parameters:
  ///   - bug: one that the servers have.
  ///   - bound: after so many seconds devices have to be equal.
  ///   - listens: whether servers hear of each other's pushes.
  private func history(seconds: Int, bug: Planted? = nil, bound: Int = 90, listens: Bool = true)
    async throws -> (
      output: String, code: CInt
    )
  {
    try await inTemporaryFolder { folder in
      // PostgreSQL runs as another user.
      _ = try await run(["chmod", "755", folder])
      if getuid() == 0 { _ = try await run(["chown", "postgres", folder]) }
      let script = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../script/history.d/history.py").standardized.path
      let planted = bug.map { ["TERN_PLANTED=\($0.rawValue)"] } ?? []
      let seed = Rehearsal.isLong ? 1 : Rehearsal.seed
      let outcome = try await run(
        ["env", "TERN_BOUND=\(bound)", "TERN_LISTEN=\(listens ? "yes" : "no")"] + planted + [
          "python3", script, try BuiltExecutable.path("tern"),
          try BuiltExecutable.path("CrashDevice"), folder, "\(seconds)", "\(seed)",
        ])
      print(outcome.output)
      return outcome
    }
  }

  @Test func `INV-03, INV-09: nothing acknowledged is lost, and all devices end equal`()
    async throws
  {
    let outcome = try await history(seconds: Rehearsal.count(120, short: 15))
    #expect(outcome.code == 0)
    #expect(outcome.output.contains("; 0 violations"))
  }

  @Test(
    "INV-03: a COMMIT that was cancelled, and acknowledged, is found to be lost",
    .enabled(if: Rehearsal.isLong, "it takes half a minute: TERN_LONG"))
  func unclear() async throws {
    let outcome = try await history(seconds: 10, bug: .commitUnclear)
    #expect(outcome.code == 1)
    #expect(outcome.output.contains("is acknowledged and gone"))
  }

  @Test(
    "INV-09: servers that look at no head don't tell of each other's pushes",
    .enabled(if: Rehearsal.isLong, "it takes half a minute: TERN_LONG"))
  func unread() async throws {
    let outcome = try await history(seconds: 10, bug: .headsUnread, bound: 15, listens: false)
    #expect(outcome.code == 1)
    #expect(outcome.output.contains("INV-09"))
  }
}
#endif
