#if os(Linux)
import Foundation
import TestProcesses

/// Certificates that `openssl` makes for one test, in a folder that is removed with the last copy.
final class Authority: Sendable {
  let folder: String
  /// The authority's own certificate, for who trusts it.
  var file: String { folder + "/authority.pem" }

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "tern-tls-\(UUID())").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try openssl(
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
      "-days",
      "2", "-subj", "/CN=Tern test authority", "-keyout", folder + "/authority.key", "-out", file)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// A certificate for a name such as `IP:127.0.0.1` or `DNS:other.example`, with its key in one file.
  func certificate(for name: String) throws -> String {
    let base = folder + "/" + name.filter { $0.isLetter || $0.isNumber }
    try "subjectAltName=\(name)\n".write(toFile: base + ".ext", atomically: true, encoding: .utf8)
    try openssl(
      "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
      "/CN=server", "-keyout", base + ".key", "-out", base + ".csr")
    try openssl(
      "x509", "-req", "-in", base + ".csr", "-CA", file, "-CAkey", folder + "/authority.key",
      "-CAcreateserial", "-days", "1", "-extfile", base + ".ext", "-out", base + ".crt")
    let both =
      try String(contentsOfFile: base + ".crt", encoding: .utf8)
      + String(contentsOfFile: base + ".key", encoding: .utf8)
    try both.write(toFile: base + ".pem", atomically: true, encoding: .utf8)
    return base + ".pem"
  }

  private func openssl(_ arguments: String...) throws {
    // Nobody reads what it prints of its progress.
    let words = ["sh", "-c", "exec openssl \"$@\" 2>/dev/null", "openssl"] + arguments
    let child = try ChildProcess("/usr/bin/env", arguments: words)
    child.endInput()
    while child.read() != nil {}
    guard child.wait() == 0 else { throw CocoaError(.fileWriteUnknown) }
  }
}

/// `openssl s_server` on a free port of this machine, which answers each request with a page.
final class SecureServer: Sendable {
  private let child: ChildProcess
  let url: String

  /// - Parameter options: e.g. `-tls1_2`, for a server that speaks nothing newer.
  init(certificate: String, _ options: String...) throws {
    let words = ["openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-www"]
    child = try ChildProcess("/usr/bin/env", arguments: words + options)
    var printed = ""
    while !printed.contains("ACCEPT 127.0.0.1:") || !printed.hasSuffix("\n") {
      guard let bytes = child.read() else { throw CocoaError(.fileReadUnknown) }
      printed += String(decoding: bytes, as: UTF8.self)
    }
    let port = printed.split(separator: "ACCEPT 127.0.0.1:").last?.prefix { $0.isNumber } ?? ""
    url = "https://127.0.0.1:\(port)/"
  }

  deinit {
    child.kill()
    child.endInput()
    _ = child.wait()
  }
}
#endif
