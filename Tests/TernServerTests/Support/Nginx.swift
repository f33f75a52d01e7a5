#if Server
import Foundation
import Testing

/// nginx as Debian has it, before a server.
enum Nginx {
  static let path = "/usr/sbin/nginx"
  static let isThere = FileManager.default.isExecutableFile(atPath: path)

  /// Runs `body` with nginx's port, then ends it.
  ///
  /// - Parameter reuses: whether connections to the server serve several requests, as operators are
  ///   told to set it.
  static func run(
    before server: LiveServer, reuses: Bool = false, _ body: (Int) async throws -> Void
  ) async throws {
    let folder = try TemporaryFolder()
    let port = try freePort()
    let file = folder.path("nginx.conf")
    try configuration(folder, from: port, to: server.port, reuses: reuses)
      .write(toFile: file, atomically: true, encoding: .utf8)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
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

  private static func configuration(
    _ folder: TemporaryFolder, from port: Int, to server: Int, reuses: Bool
  ) -> String {
    let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
      "\($0)_temp_path \(folder.path($0));"
    }
    return """
      daemon off; master_process off; pid \(folder.path("pid")); error_log \(folder.path("log"));
      events {}
      http {
        access_log off; \(paths.joined(separator: " "))
        upstream tern { server 127.0.0.1:\(server); \(reuses ? "keepalive 4;" : "") }
        server {
          listen 127.0.0.1:\(port);
          location / {
            proxy_pass http://tern;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
          }
        }
      }
      """
  }
}
#endif
