#if os(Linux)
import Testing

@testable import TernNetwork

@Suite("Transport: who is spoken to, and how", .timeLimit(.minutes(1)))
struct TransportSecurityTests {
  private func get(_ url: String, over transport: any HTTPTransport) async -> Result<Int, HTTPError>
  {
    do {
      let response = try await transport.send(HTTPRequest(.get, url, timeout: .seconds(20)))
      return .success(response.status)
    } catch let error as HTTPError {
      return .failure(error)
    } catch {
      Issue.record(error)
      return .success(0)
    }
  }

  @Test(
    "a server whose authority is trusted is spoken to, over each version",
    arguments: TransportKind.allCases,
    ["-tls1_2", "-tls1_3"])
  func trusted(_ kind: TransportKind, version: String) async throws {
    let authority = try Authority()
    let transport = try kind.make(authorities: authority.file)
    let server = try SecureServer(certificate: authority.certificate(for: "IP:127.0.0.1"), version)
    #expect(await get(server.url, over: transport) == .success(200))
  }

  @Test(
    "a server that speaks TLS 1.2 alone is refused where 1.3 is the least",
    arguments: TransportKind.allCases)
  func least(_ kind: TransportKind) async throws {
    let authority = try Authority()
    let transport = try kind.make(least: .v13, authorities: authority.file)
    let certificate = try authority.certificate(for: "IP:127.0.0.1")
    let old = try SecureServer(certificate: certificate, "-tls1_2")
    let error = await get(old.url, over: transport)
    #expect(throws: HTTPError.self) { try error.get() }
    if case .failure(let error) = error {
      #expect(error.code == .tls)
      #expect(!error.mayHaveArrived)
    }
    let new = try SecureServer(certificate: certificate, "-tls1_3")
    #expect(await get(new.url, over: transport) == .success(200))
  }

  @Test("a server whose authority nobody knows is refused", arguments: TransportKind.allCases)
  func unknown(_ kind: TransportKind) async throws {
    let authority = try Authority()
    let server = try SecureServer(certificate: authority.certificate(for: "IP:127.0.0.1"))
    guard case .failure(let error) = await get(server.url, over: try kind.make()) else {
      return #expect(Bool(false), "it was trusted")
    }
    try kind.skip(.causes)
    #expect(error.code == .tls)
    #expect(error.advice == .interrupted(isLocal: true))
  }

  @Test("a certificate for another name is refused", arguments: TransportKind.allCases)
  func otherName(_ kind: TransportKind) async throws {
    let authority = try Authority()
    let transport = try kind.make(authorities: authority.file)
    for name in ["DNS:other.example", "IP:127.0.0.2"] {
      let server = try SecureServer(certificate: authority.certificate(for: name))
      guard case .failure(let error) = await get(server.url, over: transport) else {
        return #expect(Bool(false), "\(name) was trusted")
      }
      #expect(error.code == .tls)
    }
  }
}
#endif
