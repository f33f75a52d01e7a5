#if Server
import Foundation
import TernCore
import Testing

@testable import TernServer

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("TernTool: the log of tern serve", .timeLimit(.minutes(1)))
struct ServeLogTests {
  @Test func `each line is a JSON object, and no secret or content is in one at any level`()
    async throws
  {
    let folder = try TemporaryFolder()
    let data = folder.path("server.tern")
    let token = try TernProcess.run("token", "create", "--data", data, "--space", "home").output
      .trimmingCharacters(in: .newlines)
    let server = try TernProcess([
      "serve", "--data", data, "--port", "0", "--log-level", "trace", "--log-format", "json",
      "--slow-request", "1", "--slow-statement", "1",
    ])
    let url = String(server.line().dropFirst("tern: listening on ".count))
    var request = URLRequest(
      url: try #require(URL(string: url + "/v1/spaces/home/operations?q=query-secret")))
    request.httpMethod = "POST"
    request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
    request.setValue("the-id", forHTTPHeaderField: "X-Request-Id")
    request.setValue("application/vnd.tern.batch", forHTTPHeaderField: "Content-Type")
    var author = Author(1)
    let operations = author.write(count: 1)
    request.httpBody = Data(OperationBatch(operations).encoded())
    let (_, answer) = try await URLSession.shared.data(for: request)
    #expect((answer as? HTTPURLResponse)?.statusCode == 200)
    server.terminate()
    let log = server.complaints()
    #expect(server.wait() == 0)
    let lines = log.split(separator: "\n")
    var told: [String: Any]?
    for line in lines {
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      let members = try #require(object, "\(line)")
      for name in ["level", "message"] { #expect(members[name] is String, "\(line)") }
      let time = try #require(members["time"] as? String)
      #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil, "\(line)")
      if members["request"] as? String == "the-id", members["route"] != nil { told = members }
    }
    #expect(told?["route"] as? String == "push" && told?["status"] as? String == "200")
    for secret in [token, "query-secret", author.replica.description] {
      #expect(!log.contains(secret), "\(secret)")
    }
  }

  @Test(arguments: [
    (["--log-level", "loud"], "--log-level is one of trace, debug"),
    (["--log-format", "xml"], "--log-format is text or json"),
    (["--slow-request=-1"], "--slow-request is a number"),
  ])
  func `what is no level, format or time is refused`(arguments: [String], sentence: String) throws {
    let refused = try TernProcess.run(["serve", "--data", "unmade.tern"] + arguments)
    #expect(refused.code != 0 && refused.errors.contains(sentence), "\(refused.errors)")
  }
}
#endif
