#if Server
import Foundation
import GRDB
import TernCore
import TernServer
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("TernTool: the tern command", .timeLimit(.minutes(1)))
struct CommandTests {
  let folder: TemporaryFolder
  let data: String

  init() throws {
    folder = try TemporaryFolder()
    data = folder.path("server.tern")
  }

  private func serve() throws -> (process: TernProcess, url: String) {
    let process = try TernProcess(["serve", "--data", data, "--port", "0"])
    let line = process.line()
    let start = "tern: listening on "
    try #require(line.hasPrefix(start + "http://127.0.0.1:"))
    return (process, String(line.dropFirst(start.count)))
  }

  private func createToken(space: String = "home") throws -> String {
    let created = try TernProcess.run("token", "create", "--data", data, "--space", space)
    try #require(created.code == 0)
    let token = created.output.trimmingCharacters(in: .newlines)
    #expect(created.output == token + "\n")
    return token
  }

  private func request(_ url: String, _ token: String) throws -> URLRequest {
    var request = URLRequest(url: try #require(URL(string: url)))
    request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
    return request
  }

  @Test("a token made while the server runs works, and a restart keeps everything")
  func restart() async throws {
    var (server, url) = try serve()
    let token = try createToken()
    var push = try request(url + "/v1/spaces/home/operations", token)
    push.httpMethod = "POST"
    push.setValue("application/vnd.tern.batch", forHTTPHeaderField: "Content-Type")
    var author = Author(1)
    let operations = author.write(count: 3)
    push.httpBody = Data(OperationBatch(operations).encoded())
    let (_, pushed) = try await URLSession.shared.data(for: push)
    #expect((pushed as? HTTPURLResponse)?.statusCode == 200)
    server.terminate()
    #expect(server.wait() == 0)

    (server, url) = try serve()
    let (body, _) = try await URLSession.shared.data(
      for: try request(url + "/v1/spaces/home/operations", token))
    #expect(try OperationBatch(encoded: Array(body)).operations == operations)
    server.terminate()
    #expect(server.wait() == 0)
  }

  @Test("SIGTERM ends a server with an open stream, with code 0 and one whole file")
  func sigterm() async throws {
    let (server, url) = try serve()
    var events = EventReader(try request(url + "/v1/spaces/home/events", try createToken()))
    #expect(try await events.next()?.hasPrefix("event: position") == true)
    server.terminate()
    while let event = try await events.next() { #expect(event.hasPrefix("retry: ")) }
    #expect(server.wait() == 0)
    let log = try? Data(contentsOf: URL(fileURLWithPath: data + "-wal"))
    #expect(log?.isEmpty ?? true)
  }

  @Test("the processor time of a token can be set, and a number that is none is refused")
  func processor() throws {
    let server = try TernProcess([
      "serve", "--data", data, "--port", "0", "--processor-per-token", "600",
    ])
    #expect(server.line().hasPrefix("tern: listening on http://"))
    server.terminate()
    #expect(server.wait() == 0)
    let refused = try TernProcess.run("serve", "--data", data, "--processor-per-token", "0")
    #expect(refused.code != 0)
    #expect(refused.errors.contains("--processor-per-token is a number from 1"))
  }

  @Test("a second server for one file is refused, and the first goes on")
  func second() async throws {
    let token = try createToken()
    let (server, url) = try serve()
    let second = try TernProcess.run("serve", "--data", data, "--port", "0")
    #expect(second.code == 1)
    #expect(second.errors.contains("another server serves"))
    let (_, answer) = try await URLSession.shared.data(
      for: try request(url + "/v1/spaces/home", token))
    #expect((answer as? HTTPURLResponse)?.statusCode == 200)
    server.terminate()
    #expect(server.wait() == 0)
  }

  @Test("a process may have one connection at least, and says when fewer files may be open")
  func connections() throws {
    let refused = try TernProcess.run("serve", "--data", data, "--connections", "0")
    #expect(refused.code != 0)
    #expect(refused.errors.contains("--connections is a number from 1"))
    let process = try TernProcess(
      ["serve", "--data", data, "--port", "0", "--connections", "100000000"])
    #expect(process.line().hasPrefix("tern: listening on "))
    process.terminate()
    #expect(process.complaints().contains("fewer files may be open than there may be connections"))
    #expect(process.wait() == 0)
  }

  @Test("an address may have one connection at least")
  func connectionsPerAddress() throws {
    let refused = try TernProcess.run("serve", "--data", data, "--connections-per-address", "0")
    #expect(refused.code != 0)
    #expect(refused.errors.contains("--connections-per-address is a number from 1"))
    let process = try TernProcess(
      ["serve", "--data", data, "--port", "0", "--connections-per-address", "1"])
    #expect(process.line().hasPrefix("tern: listening on "))
    process.terminate()
    #expect(process.wait() == 0)
  }

  @Test("tokens are listed by id and revoked by it")
  func tokens() throws {
    let secrets = [try createToken(), try createToken(space: "work")]
    let list = try TernProcess.run("token", "list", "--data", data).output
    #expect(list.split(separator: "\n").count == 2)
    #expect(secrets.allSatisfy { !list.contains($0) })
    let id = String(list.prefix(16))
    #expect(try TernProcess.run("token", "revoke", "--data", data, id).code == 0)
    #expect(try TernProcess.run("token", "revoke", "--data", data, id).code != 0)
    let rest = try TernProcess.run("token", "list", "--data", data).output
    #expect(rest.split(separator: "\n").count == 1)
    #expect(!rest.contains(id))
  }

  @Test("spaces are listed, and one is deleted when that is said twice")
  func spaces() throws {
    _ = (try createToken(), try createToken(), try createToken(space: "work"))
    func list() throws -> String { try TernProcess.run("space", "list", "--data", data).output }
    #expect(try list() == "home  0 operations, 2 tokens\nwork  0 operations, 1 token\n")
    let asked = try TernProcess.run("space", "delete", "--data", data, "home")
    #expect(asked.code == 1)
    #expect(asked.errors.contains("0 operations, 2 tokens"))
    #expect(asked.errors.contains("--yes"))
    #expect(try list().hasPrefix("home"))
    #expect(try TernProcess.run("space", "delete", "--data", data, "home", "--yes").code == 0)
    #expect(try list() == "work  0 operations, 1 token\n")
    #expect(try TernProcess.run("token", "list", "--data", data).output.hasSuffix("work\n"))
    #expect(try TernProcess.run("space", "delete", "--data", data, "home", "--yes").code != 0)
  }

  @Test("a space's quota is printed, set and taken back")
  func quota() throws {
    _ = try createToken()
    func quota(_ words: String...) throws -> (output: String, errors: String, code: Int32) {
      try TernProcess.run(["space", "quota", "--data", data] + words)
    }
    let members =
      "authors     at most the server's of one member\n"
      + "share       at most half of what is left for one member\n"
    let servers =
      "bytes       0, at most the server's\noperations  0, at most the server's\n" + members
    #expect(try quota("home").output == servers)
    let own = "bytes       0, at most 5000\noperations  0, at most 7\n" + members
    #expect(try quota("home", "--bytes", "5000", "--operations", "7").output == own)
    #expect(try quota("home").output == own)
    #expect(try quota("home", "--reset").output == servers)
    for words in [["none"], ["none", "--bytes", "5"]] {
      let refused = try TernProcess.run(["space", "quota", "--data", data] + words)
      #expect(refused.code != 0)
      #expect(refused.errors.contains("tern space list"))
    }
    #expect(try quota("home", "--share", "70").output.contains("at most 70 percent for one"))
    for words in [["--bytes", "-5"], ["--share", "0"], ["--share", "101"]] {
      let refused = try TernProcess.run(["space", "quota", "--data", data, "home"] + words)
      #expect(refused.code != 0 && refused.errors.contains(words[0]))
    }
    #expect(try TernProcess.run("space", "list", "--data", data).output.hasPrefix("home"))
  }

  @Test("a space's quota is printed while somebody writes")
  func quotaBesideWriter() throws {
    _ = try createToken()
    try DatabaseQueue(path: data).writeWithoutTransaction { db in
      try db.inTransaction(.immediate) {
        let printed = try TernProcess.run("space", "quota", "--data", data, "home")
        #expect(printed.code == 0, "\(printed.errors)")
        return .rollback
      }
    }
  }

  @Test("it says that the reserve file can't be made, and serves")
  func withoutReserve() throws {
    try FileManager.default.createSymbolicLink(
      atPath: data + "-reserve", withDestinationPath: folder.path("nowhere"))
    let (server, _) = try serve()
    server.terminate()
    #expect(server.complaints().contains("without a reserve file"))
    #expect(server.wait() == 0)
  }

  @Test("a space that is deleted while its server runs is closed to its devices")
  func deletedSpace() async throws {
    let (server, url) = try serve()
    let (token, other) = (try createToken(), try createToken(space: "work"))
    #expect(try TernProcess.run("space", "delete", "--data", data, "home", "--yes").code == 0)
    for (space, token, status) in [("home", token, 401), ("work", other, 200)] {
      let (_, answer) = try await URLSession.shared.data(
        for: try request(url + "/v1/spaces/" + space, token))
      #expect((answer as? HTTPURLResponse)?.statusCode == status)
    }
    server.terminate()
    #expect(server.wait() == 0)
  }

  #if os(Linux)
  @Test("serving raises the limit of open files as far as it may")
  func openFiles() throws {
    let process = try TernProcess(
      ["serve", "--data", data, "--port", "0"],
      behind: ["sh", "-c", "ulimit -Sn 200; exec \"$@\"", "-"])
    #expect(process.line().hasPrefix("tern: listening on "))
    let text = try String(contentsOfFile: "/proc/\(process.identifier)/limits", encoding: .utf8)
    let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("Max open files") })
    let numbers = line.split(separator: " ").compactMap { Int($0) }
    #expect(numbers.count == 2 && numbers[0] == numbers[1])
    process.terminate()
    #expect(process.wait() == 0)
  }
  #endif

  @Test(
    "a file of another kind is refused and untouched",
    arguments: [["serve"], ["token", "create", "--space", "home"], ["token", "list"]])
  func foreign(command: [String]) throws {
    let text = Data("a letter\n".utf8)
    try text.write(to: URL(fileURLWithPath: data))
    let process = try TernProcess.run(command + ["--data", data])
    #expect(process.code == 1)
    #expect(process.output.isEmpty)
    #expect(process.errors.contains("is no data file of a Tern server"))
    #expect(try Data(contentsOf: URL(fileURLWithPath: data)) == text)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["server.tern"])
  }

  @Test("looking at a file that isn't there makes none")
  func absent() throws {
    #expect(try TernProcess.run("token", "list", "--data", data).code == 1)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
  }
}
#endif
