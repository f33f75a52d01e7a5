#if PostgreSQL
import Foundation
import TernCore
import Testing

@testable import TernServer

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite(
  "TernTool: several servers of one database",
  .enabled(if: TestDatabase.address != nil, "script/test starts a database"),
  .timeLimit(.minutes(1)))
struct DatabaseCommandTests {
  private let database: TestDatabase
  private let data: [String]

  init() throws {
    database = try TestDatabase()
    data = ["--data", try #require(TestDatabase.address), "--schema", database.schema]
  }

  private func serve() throws -> (process: TernProcess, url: String) {
    let process = try TernProcess(["serve", "--port", "0"] + data)
    let line = process.line()
    let start = "tern: listening on "
    try #require(line.hasPrefix(start + "http://127.0.0.1:"))
    return (process, String(line.dropFirst(start.count)) + "/v1/spaces/home")
  }

  private func request(_ url: String, _ token: String) throws -> URLRequest {
    var request = URLRequest(url: try #require(URL(string: url)))
    request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
    return request
  }

  private func push(_ operations: [SyncOperation], to url: String, _ token: String) async throws
    -> Int
  {
    var push = try request(url + "/operations", token)
    push.httpMethod = "POST"
    push.setValue("application/vnd.tern.batch", forHTTPHeaderField: "Content-Type")
    push.httpBody = Data(OperationBatch(operations).encoded())
    let (_, response) = try await URLSession.shared.data(for: push)
    return try #require(response as? HTTPURLResponse).statusCode
  }

  private func pull(from url: String, _ token: String) async throws -> [SyncOperation] {
    let (body, _) = try await URLSession.shared.data(for: request(url + "/operations", token))
    return try OperationBatch(encoded: Array(body)).operations
  }

  @Test func `a push to one is told and given by the other, and outlives both`() async throws {
    let (one, first) = try serve()
    let (two, second) = try serve()
    let created = try TernProcess.run(["token", "create", "--space", "home"] + data)
    try #require(created.code == 0)
    let token = created.output.trimmingCharacters(in: .newlines)
    var author = Author(1)
    let old = author.write(count: 2)
    #expect(try await push(old, to: first, token) == 200)
    var events = EventReader(try request(second + "/events", token))
    defer { events.cancel() }
    #expect(try await events.next()?.contains("id: 2") ?? false)
    // real time: what is read every second and is no news wakes nobody.
    try await Task.sleep(for: .seconds(2.5))
    let new = author.write(count: 1)
    #expect(try await push(new, to: first, token) == 200)
    // Long before the stream's next sign of life, at which it would be told anyway.
    let began = ContinuousClock.now
    #expect(try await events.next()?.contains("id: 3") ?? false)
    #expect(ContinuousClock.now - began < .seconds(10))
    #expect(try await push(old + new, to: second, token) == 200)
    #expect(try await pull(from: second, token) == old + new)
    events.cancel()
    for process in [one, two] {
      process.terminate()
      #expect(process.wait() == 0)
    }
    let (again, third) = try serve()
    #expect(try await pull(from: third, token) == old + new)
    again.terminate()
    #expect(again.wait() == 0)
  }

  @Test func `a token revoked anywhere ends its streams on every server`() async throws {
    let servers = [try serve(), try serve()]
    let created = try TernProcess.run(["token", "create", "--space", "home"] + data)
    let token = created.output.trimmingCharacters(in: .newlines)
    var streams = try servers.map { EventReader(try request($0.url + "/events", token)) }
    for index in streams.indices {
      #expect(try await streams[index].next()?.contains("id: 0") ?? false)
    }
    let id = try TernProcess.run(["token", "list"] + data).output.prefix(16)
    #expect(try TernProcess.run(["token", "revoke", String(id)] + data).code == 0)
    for index in streams.indices { #expect(try await streams[index].next() == nil) }
    for server in servers {
      server.process.terminate()
      #expect(server.process.wait() == 0)
    }
  }

  @Test func `commands that look and change do so in the database`() throws {
    _ = try TernProcess.run(["token", "create", "--space", "home", "--member", "anna"] + data)
    #expect(try TernProcess.run(["token", "list"] + data).output.contains("anna"))
    #expect(try TernProcess.run(["space", "quota", "home", "--bytes", "1000"] + data).code == 0)
    #expect(try TernProcess.run(["space", "list"] + data).output.contains("home"))
    #expect(try TernProcess.run(["space", "delete", "home", "--yes"] + data).code == 0)
    #expect(try !TernProcess.run(["space", "list"] + data).output.contains("home"))
  }

  @Test func `a password in the address is refused, and an unreachable database named`() throws {
    for address in [
      "tern:secret@127.0.0.1/tern", "tern:secret@db1:5432,db2:5432/tern", "tern:se/secret@db/tern",
      "tern@db/tern?passfile=f&password=secret", "tern@db/tern?sslp%61ssword=secret",
    ] {
      let refused = try TernProcess.run("space", "list", "--data", "postgresql://\(address)")
      #expect(refused.code == 64 && refused.errors.contains("--database-password-file"))
      #expect(!refused.errors.contains("secret"))
    }
    let unreadable = try TernProcess.run(
      "space", "list", "--data", "postgresql://tern@[::1/secret")
    #expect(unreadable.code != 0 && unreadable.errors.contains("can't be read"))
    #expect(!unreadable.errors.contains("secret"))
    let absent = try TernProcess.run(
      "space", "list", "--data", "postgresql://tern@127.0.0.1:1/tern")
    #expect(absent.code != 0 && absent.errors.contains("127.0.0.1"))
  }
}
#endif
