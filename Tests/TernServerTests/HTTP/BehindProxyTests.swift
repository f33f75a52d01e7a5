#if Server
import Foundation
import TernCore
import Testing

@testable import TernServer

enum Nginx {
  static let path = "/usr/sbin/nginx"
  static let isThere = FileManager.default.isExecutableFile(atPath: path)
}

/// A server behind nginx as Debian has it, with its default of buffering what it passes on.
@Suite(
  "HTTP: behind nginx", .timeLimit(.minutes(1)),
  .enabled(if: Nginx.isThere, "script/test installs nginx"))
struct BehindProxyTests {
  /// A port that nothing listens on, as the system says.
  private static func freePort() throws -> Int {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 ? getsockname(descriptor, $0, &length) : -1
      }
    }
    try #require(result == 0)
    return Int(in_port_t(bigEndian: address.sin_port))
  }

  private static func configuration(_ folder: TemporaryFolder, from port: Int, to server: Int)
    -> String
  {
    let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
      "\($0)_temp_path \(folder.path($0));"
    }
    return """
      daemon off; master_process off; pid \(folder.path("pid")); error_log \(folder.path("log"));
      events {}
      http {
        access_log off; \(paths.joined(separator: " "))
        server {
          listen 127.0.0.1:\(port);
          location / {
            proxy_pass http://127.0.0.1:\(server);
            proxy_http_version 1.1;
            proxy_set_header Connection "";
          }
        }
      }
      """
  }

  private func withNginx(before server: LiveServer, _ body: (Int) async throws -> Void) async throws
  {
    let folder = try TemporaryFolder()
    let port = try Self.freePort()
    let file = folder.path("nginx.conf")
    try Self.configuration(folder, from: port, to: server.port)
      .write(toFile: file, atomically: true, encoding: .utf8)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: Nginx.path)
    process.arguments = ["-c", file, "-p", folder.url.path]
    process.standardError = FileHandle.nullDevice
    try process.run()
    defer {
      // Where this process blocks signals, its children do too.
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    // It writes the file once it listens; the suite's time limit ends this.
    while !FileManager.default.fileExists(atPath: folder.path("pid")) {
      try #require(process.isRunning, "nginx ended; its configuration is in \(file)")
      await Task.yield()
    }
    try await body(port)
  }

  @Test func `events come through as they happen, and pushes too`() async throws {
    try await LiveServer.run { server async throws in
      try await withNginx(before: server) { port in
        let proxied = LiveServer(
          service: server.service, port: port, token: server.token, group: server.group,
          application: server.application, adminPort: nil)
        var events = EventReader(proxied.request("/v1/spaces/home/events"))
        #expect(try await events.next()?.contains("id: 0") == true)
        var ada = Author(1)
        #expect(try await proxied.push(ada.write(count: 2)).status == 200)
        // Long before a sign of life would fill anything.
        #expect(try await events.next()?.contains("id: 2") == true)
        let page = try await proxied.send(proxied.request("/v1/spaces/home/operations"))
        #expect(try OperationBatch(encoded: Array(page.body)).operations.count == 2)
        events.cancel()
      }
    }
  }

  @Test func `a stream says that it is not to be buffered`() async throws {
    try await LiveServer.run { server async throws in
      let client = try RawClient(server)
      #expect(await client.send(server.head("GET", "/v1/spaces/home/events")))
      #expect(await client.head().text.lowercased().contains("x-accel-buffering: no"))
    }
  }
}
#endif
