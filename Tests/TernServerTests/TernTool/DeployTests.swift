#if Server
import Foundation
import Testing

@testable import TernServer

/// The files in `Examples/Deploy`, as far as they can be tried without an installed service.
@Suite("TernTool: the files to deploy", .timeLimit(.minutes(1)))
struct DeployTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../../Examples/Deploy").standardized

  private func text(_ name: String) throws -> String {
    try String(contentsOf: Self.folder.appending(path: name), encoding: .utf8)
  }

  @Test func `the settings are options of tern serve, and it starts with them`() throws {
    let folder = try TemporaryFolder()
    let server = try TernProcess([
      "serve", "--config", Self.folder.appending(path: "settings.json").path, "--data",
      folder.path("server.tern"), "--port", "0", "--admin-port", "0", "--drain-delay", "0",
    ])
    let lines = [server.line(), server.line()].sorted()
    #expect(lines[0].hasPrefix("tern: listening on http://127.0.0.1:"))
    #expect(lines[1].hasPrefix("tern: metrics on http://127.0.0.1:"))
    server.terminate()
    #expect(server.wait() == 0)
  }

  @Test func `the unit gives the server as long to end as its settings take`() throws {
    let settings = try #require(
      JSONSerialization.jsonObject(with: Data(try text("settings.json").utf8)) as? [String: Any])
    let delay = try #require(settings["drain-delay"] as? Int)
    let line = try #require(try text("tern.service").firstMatch(of: /TimeoutStopSec=(\d+)/))
    // 10 for event streams, and 20 and 10 for what is open.
    #expect(try #require(Int(line.1)) > delay + 10 + 30)
  }

  @Test func `the container's variables are settings`() throws {
    let lines = try text("Dockerfile").replacing("\\\n", with: "").split(separator: "\n")
    let pairs = try #require(lines.first { $0.hasPrefix("ENV ") }).dropFirst(4)
      .split(separator: " ")
    #expect(pairs.count > 4)
    let help = try TernProcess.run("serve", "--help").output
    for pair in pairs {
      let variable = pair.prefix { $0 != "=" }
      #expect(variable.hasPrefix("TERN_"))
      let option = variable.dropFirst(5).lowercased().replacing("_", with: "-")
      // A flag has no value.
      let forms = pair.hasSuffix("=true") ? ["--\(option) ", "--\(option)\n"] : ["--\(option) <"]
      #expect(forms.contains { help.contains($0) }, "\(variable)")
    }
  }

  @Test(
    .enabled(
      if: FileManager.default.isExecutableFile(atPath: "/usr/bin/systemd-analyze"),
      "systemd is not installed"))
  func `systemd finds nothing wrong with the unit`() throws {
    let folder = try TemporaryFolder()
    // Where nothing is installed its program isn't there.
    let unit = try text("tern.service").replacing("/usr/local/bin/tern", with: "/bin/true")
    try Data(unit.utf8).write(to: URL(fileURLWithPath: folder.path("tern.service")))
    let (process, output) = (Process(), Pipe())
    process.executableURL = URL(fileURLWithPath: "/usr/bin/systemd-analyze")
    process.arguments = ["verify", folder.path("tern.service")]
    process.standardError = output
    try process.run()
    let complaints = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(complaints.isEmpty, "\(String(decoding: complaints, as: UTF8.self))")
  }
}
#endif
