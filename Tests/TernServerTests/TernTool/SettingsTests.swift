#if Server
import Foundation
import Testing

@testable import TernServer

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("TernTool: settings of tern serve", .timeLimit(.minutes(1)))
struct SettingsTests {
  private let folder: TemporaryFolder
  private let data: String

  init() throws {
    folder = try TemporaryFolder()
    data = folder.path("server.tern")
  }

  private func file(_ text: String) throws -> String {
    let path = folder.path("settings.json")
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    return path
  }

  /// The lines by which a server says where it listens, and its metrics' limit of connections.
  private func serve(_ arguments: [String], _ environment: [String: String] = [:]) throws
    -> [String]
  {
    let server = try TernProcess(["serve"] + arguments, environment: environment)
    let lines = [server.line(), server.line()]
    server.terminate()
    #expect(server.wait() == 0)
    return lines.sorted()
  }

  @Test func `the command line counts before the environment, and that before the file`() throws {
    let path = try file(
      #"{"data": "\#(data)", "port": 0, "host": "localhost", "admin-host": "::1", "admin-port": 0}"#
    )
    let all = try serve(["--config", path])
    #expect(all[0].hasPrefix("tern: listening on http://localhost:"))
    #expect(all[1].hasPrefix("tern: metrics on http://[::1]:"))
    let two = try serve(
      ["--host", "127.0.0.1"],
      ["TERN_CONFIG": path, "TERN_HOST": "127.0.0.2", "TERN_ADMIN_HOST": "127.0.0.3"])
    #expect(two[0].hasPrefix("tern: listening on http://127.0.0.1:"))
    #expect(two[1].hasPrefix("tern: metrics on http://127.0.0.3:"))
  }

  @Test func `a bad value is refused with the place where it stands`() throws {
    func refusal(_ arguments: [String], _ environment: [String: String] = [:]) throws -> String {
      let refused = try TernProcess.run(
        ["serve", "--data", data] + arguments, environment: environment)
      #expect(refused.code != 0)
      return refused.errors
    }
    let port = try refusal([], ["TERN_PORT": "70000"])
    #expect(port.contains("--port is a number from 0 to 65535"))
    #expect(port.contains("--port is set by TERN_PORT."))
    let word = try refusal([], ["TERN_ADMIN_PORT": "many"])
    #expect(word.contains("many") && word.contains("--admin-port is set by TERN_ADMIN_PORT."))
    let path = try file(#"{"log-format": "xml"}"#)
    let format = try refusal(["--config", path])
    #expect(format.contains("--log-format is text or json"))
    #expect(format.contains("--log-format is set by 'log-format' in \(path)."))
    let prepared = try refusal([], ["TERN_PREPARED_STATEMENTS": "true"])
    #expect(prepared.contains("--prepared-statements is for a database; --data names a file"))
    // Of the command line's own nothing is added.
    #expect(try !refusal(["--port", "70000"]).contains("is set by"))
    #expect(
      try refusal(["--config", try file(#"{"port": [1]}"#)])
        .contains("'port' in \(path) to what is neither a text nor a whole number"))
    #expect(!FileManager.default.fileExists(atPath: data))
  }

  @Test func `a key that is no option is refused, and a file that is none`() throws {
    for (text, sentence) in [
      (#"{"prot": 1}"#, "has the setting 'prot'"), (#"{"config": "x"}"#, "the setting 'config'"),
      ("port: 1", "can't be read"), ("[1]", "can't be read"),
    ] {
      let path = try file(text)
      let refused = try TernProcess.run("serve", "--data", data, "--config", path)
      #expect(refused.code != 0 && refused.errors.contains(path), "\(refused.errors)")
      #expect(refused.errors.contains(sentence), "\(refused.errors)")
      #expect(try TernProcess.run("serve", "--help", "--config", path).code == 0)
    }
    let absent = try TernProcess.run("serve", "--data", data, "--config", folder.path("absent"))
    #expect(absent.code != 0 && absent.errors.contains("can't be read"))
  }

  @Test func `other commands take the data's place from the environment, and nothing else`() throws
  {
    let made = try TernProcess.run(
      ["token", "create", "--space", "home"],
      environment: ["TERN_DATA": data, "TERN_SPACE": "work", "TERN_MEMBER": "anna"])
    #expect(made.code == 0)
    let listed = try TernProcess.run(["token", "list"], environment: ["TERN_DATA": data]).output
    #expect(listed.contains("home") && !listed.contains("anna"))
    // An empty variable is none.
    #expect(try TernProcess.run(["token", "list"], environment: ["TERN_DATA": ""]).code != 0)
  }

  @Test func `help names every option, the file and a variable`() throws {
    let help = try TernProcess.run("serve", "--help").output
    for word in ["--config", "--admin-port", "TERN_ADMIN_PORT", "--database-password-file"] {
      #expect(help.contains(word))
    }
  }
}
#endif
