#if Server
import Foundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("TernTool: whom tern serve lets in, and how", .timeLimit(.minutes(1)))
struct ServeAccessTests {
  private let folder: TemporaryFolder
  private let serve: [String]

  init() throws {
    folder = try TemporaryFolder()
    serve = ["serve", "--data", folder.path("server.tern"), "--port", "0"]
  }

  /// What it says once it listens.
  private func line(_ more: [String]) throws -> String {
    let process = try TernProcess(serve + more)
    let line = process.line()
    process.terminate()
    #expect(process.wait() == 0)
    return line
  }

  @Test func `plain HTTP for other machines has to be asked for`() throws {
    for host in ["0.0.0.0", "::"] {
      let refused = try TernProcess.run(serve + ["--host", host])
      #expect(refused.code == 64 && refused.errors.contains("--plain-http"))
      #expect(refused.errors.contains("--tls-certificate"))
    }
    #expect(!FileManager.default.fileExists(atPath: folder.path("server.tern")))
    #expect(try line(["--host", "0.0.0.0", "--plain-http"]).contains("http://0.0.0.0:"))
    #expect(try line(["--host", "localhost"]).contains("http://localhost:"))
  }

  @Test(
    arguments: [
      (["--tls-certificate", "c.pem"], "go together"), (["--tls-key", "k.pem"], "go together"),
      (["--tls-certificate", "c.pem", "--tls-key", "k.pem"], "c.pem can't be read"),
      (["--tls-certificate", "c.pem", "--tls-key", "k.pem", "--plain-http"], "exclude each other"),
    ])
  func `what doesn't fit is refused by name`(_ arguments: [String], _ told: String) throws {
    let refused = try TernProcess.run(serve + arguments)
    #expect(refused.code != 0 && refused.errors.contains(told), "\(refused.errors)")
  }

  #if JWTs
  @Test(
    arguments: [
      (["--jwt-keys", "keys.json"], "--jwt-audience"), (["--jwt-audience", "tern"], "--jwt-keys"),
      (["--jwt-denied", "list"], "--jwt-keys"),
      (["--jwt-keys", "keys.json", "--jwt-audience", "tern"], "keys.json can't be read"),
      (["--jwt-keys", "http://id.example.org/", "--jwt-audience", "tern"], "no https URL"),
    ])
  func `keys that can't be had are refused by name`(_ arguments: [String], _ told: String) throws {
    let refused = try TernProcess.run(serve + arguments)
    #expect(refused.code != 0 && refused.errors.contains(told), "\(refused.errors)")
  }

  @Test func `JSON Web Tokens are taken beside tokens`() async throws {
    let issuer = try await TestIssuer()
    let keys = folder.path("keys.json")
    try Data(TestIssuer.set([issuer])).write(to: URL(fileURLWithPath: keys))
    let data = folder.path("server.tern")
    #expect(try TernProcess.run("space", "create", "--data", data, "home").code == 0)
    #expect(try TernProcess.run("space", "create", "--data", data, "home").code != 0)
    let process = try TernProcess(serve + ["--jwt-keys", keys, "--jwt-audience", "tern"])
    let url = String(process.line().dropFirst("tern: listening on ".count))
    // The machine's own time, as that of the process is.
    let now = Int64(Date.now.timeIntervalSince1970 * 1000)
    let token = try issuer.token(TestIssuer.claims(at: now))
    for (credential, status) in [(token, 200), (token + "A", 401)] {
      var request = URLRequest(url: try #require(URL(string: url + "/v1/spaces/home")))
      request.setValue("Bearer \(credential)", forHTTPHeaderField: "Authorization")
      let (_, answer) = try await URLSession.shared.data(for: request)
      #expect((answer as? HTTPURLResponse)?.statusCode == status)
    }
    process.terminate()
    #expect(process.wait() == 0)
  }
  #endif
}
#endif
