#if Server && PostgreSQL && Rehearsal && os(Linux)
import Foundation
import TestProcesses
import Testing

private let folders = "/usr/lib/postgresql"

@Suite(
  "A database that syncs nothing",
  .enabled(
    if: FileManager.default.fileExists(atPath: folders), "script/test installs PostgreSQL"))
struct UnsyncedDatabaseTests {
  @Test func `INV-03: a server does not begin on PostgreSQL with fsync = off`() async throws {
    try await inTemporaryFolder { folder in
      let found = try await run(["find", folders, "-name", "pg_ctl"])
      let control = try #require(found.output.split(separator: "\n").last.map(String.init))
      // PostgreSQL runs as no root.
      var asOther: [String] = []
      if getuid() == 0 {
        _ = try await run(["chown", "postgres", folder])
        asOther = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
      }
      let database = asOther + [control, "--pgdata", "\(folder)/data"]
      let settings = "-k \(folder) -c listen_addresses= -c fsync=off"
      let made = try await run(
        database + ["-o", "--auth trust --username tern --no-sync --locale C", "init"])
      #expect(made.code == 0, "\(made.output)")
      let began = try await run(
        database + ["-w", "-l", "\(folder)/log", "-o", settings, "start"])
      #expect(began.code == 0, "\(began.output)")
      let outcome = try await run([
        try BuiltExecutable.path("tern"), "serve", "--port", "0", "--data",
        "postgresql:///postgres?host=\(folder)&user=tern",
      ])
      _ = try await run(database + ["-w", "-m", "immediate", "stop"])
      #expect(outcome.code == 1)
      #expect(outcome.output.contains("'fsync = off'; turn it on"), "\(outcome.output)")
    }
  }
}
#endif
