import Foundation
import Testing

/// What `script/test` installs. Suites that need it are skipped on a machine that lacks it.
struct ToolTests {
  private static let isCI = ProcessInfo.processInfo.environment["CI"] != nil

  @Test(
    .enabled(if: isCI, "only where CI is set is nothing to be skipped"),
    arguments: [
      "apertium", "gm", "ip", "openssl", "script", "sqlite3", "tesseract", "zbarimg",
    ])
  func `no suite is skipped for want of a tool`(_ tool: String) {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let places = path.split(separator: ":").map { "\($0)/\(tool)" }
    #expect(places.contains(where: FileManager.default.isExecutableFile))
  }

  @Test(
    .enabled(if: isCI, "only where CI is set is nothing to be skipped"),
    arguments: ["TERN_POSTGRESQL", "TERN_PGBOUNCER"])
  func `no suite is skipped for want of a database`(_ name: String) {
    #expect(ProcessInfo.processInfo.environment[name] != nil)
  }
}
