#if Server
import Foundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("TernTool: operators over HTTP", .timeLimit(.minutes(1)))
struct OperatorCommandTests {
  private let folder: TemporaryFolder
  private let data: [String]

  init() throws {
    folder = try TemporaryFolder()
    data = ["--data", folder.path("server.tern")]
  }

  private func tern(_ arguments: String...) throws -> String {
    let done = try TernProcess.run(arguments + data)
    #expect(done.code == 0, "\(arguments): \(done.errors)")
    return done.output
  }

  private func make(_ name: String, _ more: String...) throws -> (token: String, line: String) {
    let made = try TernProcess.run(["operator", "create", name] + more)
    let lines = made.output.split(separator: "\n").map(String.init)
    try #require(made.code == 0 && lines.count == 2, "\(made.errors)")
    return (lines[0], lines[1])
  }

  private func write(_ line: String, rights: Int = 0o600) throws -> String {
    let path = folder.path("operators")
    try Data("\(line)\n".utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    try FileManager.default.setAttributes([.posixPermissions: rights], ofItemAtPath: path)
    return path
  }

  private func get(_ url: String, _ token: String) async throws -> (status: Int, text: String) {
    var request = URLRequest(url: try #require(URL(string: url)))
    request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
    let (body, answer) = try await URLSession.shared.data(for: request)
    return ((answer as? HTTPURLResponse)?.statusCode ?? 0, String(decoding: body, as: UTF8.self))
  }

  @Test func `a token that the command made is taken, and what it did is in the log`() async throws
  {
    _ = try tern("space", "create", "home")
    let anna = try make("anna")
    #expect(anna.token.hasPrefix("tern_operator_") && anna.line.hasPrefix("anna sha256:"))
    #expect(!anna.line.contains(anna.token))
    let process = try TernProcess(
      ["serve", "--port", "0", "--admin-port", "0", "--operator-tokens", try write(anna.line)]
        + data)
    // The addresses come in any order.
    let lines = [process.line(), process.line()]
    let admin =
      try #require(
        lines.compactMap { $0.split(separator: "metrics on ").last }
          .first { $0.hasPrefix("http") }) + "/v1/admin"
    #expect(try await get("\(admin)/spaces", anna.token).text.contains(#""name":"home""#))
    #expect(try await get("\(admin)/spaces", anna.token + "0").status == 401)
    var request = URLRequest(url: try #require(URL(string: "\(admin)/spaces/home/suspension")))
    request.httpMethod = "PUT"
    request.setValue("Bearer \(anna.token)", forHTTPHeaderField: "Authorization")
    _ = try await URLSession.shared.data(for: request)
    // A command beside the server writes into the same log.
    _ = try tern("space", "resume", "home")
    let log = try await get("\(admin)/audit?after=1", anna.token).text
    #expect(log.contains("operator:anna") && log.contains("command:"))
    process.terminate()
    #expect(process.wait() == 0)
    let words = try tern("audit", "--after", "1").split(separator: "\n").map {
      $0.split(separator: "  ").map(String.init)
    }
    #expect(words.map { $0[3] } == ["suspend-space", "resume-space"])
    #expect(words[0][2] == "operator:anna" && words[1][2].hasPrefix("command:"))
  }

  private static let page = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Docs/Administration.md")

  /// Word by word, but for the port and the shell's home.
  @Test func `the page's commands do what it says`() async throws {
    let anna = try make("anna")
    try Data("Authorization: Bearer \(anna.token)\n".utf8)
      .write(to: URL(fileURLWithPath: folder.path(".tern-operator")))
    let text = try String(contentsOf: Self.page, encoding: .utf8)
    let blocks = text.components(separatedBy: "```sh\n").dropFirst().compactMap {
      $0.components(separatedBy: "```").first
    }
    let block = try #require(blocks.first { $0.hasPrefix("admin() {") })
    let process = try TernProcess(
      ["serve", "--port", "0", "--admin-port", "0", "--operator-tokens", try write(anna.line)]
        + data)
    let lines = [process.line(), process.line()]
    let address = try #require(
      lines.compactMap { $0.split(separator: "metrics on ").last }.first { $0.hasPrefix("http") })
    let script = block.replacing("http://127.0.0.1:9090", with: address)
    let (shell, output) = (Process(), Pipe())
    shell.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    shell.arguments = ["HOME=\(folder.path(""))", "bash", "-e", "-c", script]
    shell.standardOutput = output
    try shell.run()
    let answers = String(
      decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    shell.waitUntilExit()
    #expect(shell.terminationStatus == 0, "\(answers)")
    for what in [
      "create-space", "create-token", "set-quota", "suspend-space", "resume-space", "tern_",
      #""suspended":"#,
    ] { #expect(answers.contains(what), "\(what): \(answers)") }
    process.terminate()
    #expect(process.wait() == 0)
  }

  @Test func `a token has an end where it is to have one`() throws {
    let made = try make("anna", "--expires", "2100-01-31")
    #expect(made.line.hasSuffix(" 2100-01-31T00:00:00Z"))
    for name in ["", "a b", "an/na", String(repeating: "a", count: 65)] {
      #expect(try TernProcess.run("operator", "create", "--", name).code != 0, "\(name)")
    }
  }

  @Test func `tokens that others could read or change are refused by name`() throws {
    let made = try make("anna")
    let serve = ["serve", "--port", "0", "--admin-port", "0"] + data
    func refusal(_ more: [String]) throws -> String {
      let refused = try TernProcess.run(serve + more)
      #expect(refused.code != 0)
      return refused.errors
    }
    let file = try write(made.line, rights: 0o644)
    #expect(try refusal(["--operator-tokens", file]).contains("chmod 600"))
    #expect(try refusal(["--operator-tokens", folder.path("none")]).contains("can't be read"))
    _ = try write(made.line)
    let elsewhere = ["--operator-tokens", file, "--admin-host", "0.0.0.0"]
    #expect(try refusal(elsewhere).contains("--admin-tls"))
    #expect(try refusal(elsewhere + ["--admin-tls"]).contains("--tls-certificate"))
    let without = try TernProcess.run(["serve", "--operator-tokens", file] + data)
    #expect(without.code != 0 && without.errors.contains("--admin-port"))
    #expect(!FileManager.default.fileExists(atPath: folder.path("server.tern")))
    // Without operators it is as before.
    let process = try TernProcess(
      serve + ["--operator-tokens", file, "--admin-host", "0.0.0.0", "--plain-http"])
    #expect([process.line(), process.line()].contains { $0.contains("http://0.0.0.0:") })
    process.terminate()
    #expect(process.wait() == 0)
  }

  @Test func `the dashboard is there for operators where it is asked for`() async throws {
    let serve = ["serve", "--port", "0", "--admin-port", "0"] + data
    let refused = try TernProcess.run(serve + ["--dashboard"])
    #expect(refused.code != 0 && refused.errors.contains("--operator-tokens"))
    let operators = ["--operator-tokens", try write(try make("anna").line)]
    for options in [[], ["--dashboard"]] {
      let process = try TernProcess(serve + operators + options)
      let lines = (0..<2 + options.count).map { _ in process.line() }
      let metrics = try #require(
        lines.compactMap { $0.split(separator: "metrics on ").last }.first { $0.hasPrefix("http") })
      let address = "\(metrics)/dashboard/"
      #expect(lines.contains("tern: dashboard on \(address)") == !options.isEmpty, "\(lines)")
      #expect(try await get(address, "none").status == (options.isEmpty ? 404 : 200))
      process.terminate()
      #expect(process.wait() == 0)
    }
  }
}
#endif
