#if Server
import Foundation
import TernCore
import Testing

@testable import TernServer

@Suite("HTTP: TLS", .timeLimit(.minutes(1)))
struct TLSTests {
  private let folder: TemporaryFolder
  private let files: TLSFiles

  init() throws {
    folder = try TemporaryFolder()
    files = TLSFiles(
      certificate: folder.path("certificate.pem"), key: folder.path("key.pem"))
    try Self.make(files)
  }

  /// A certificate for this machine that is its own authority, as operators make it.
  private static func make(_ files: TLSFiles) throws {
    let made = try openssl([
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
      "1",
      "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", files.key,
      "-out", files.certificate,
    ])
    try #require(made.code == 0, "\(made.output)")
  }

  /// - Parameter input: what it reads.
  private static func openssl(_ arguments: [String], input: String = "") throws -> (
    output: String, code: Int32
  ) {
    let (process, answers, words) = (Process(), Pipe(), Pipe())
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["openssl"] + arguments
    (process.standardInput, process.standardOutput) = (words, answers)
    process.standardError = FileHandle.nullDevice
    try process.run()
    // Who ends before it reads says by its output what was wrong.
    try? words.fileHandleForWriting.write(contentsOf: Data(input.utf8))
    try words.fileHandleForWriting.close()
    let output = answers.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (String(decoding: output, as: UTF8.self), process.terminationStatus)
  }

  /// What the server answers to a client that trusts one certificate alone.
  ///
  /// - Parameters:
  ///   - port: in place of that for devices.
  ///   - request: in place of a device's greeting.
  private func ask(
    _ server: LiveServer, trusting certificate: String? = nil, _ more: [String] = [],
    port: Int? = nil, request: String? = nil
  ) async throws -> String {
    let arguments =
      [
        "s_client", "-quiet", "-verify_return_error", "-CAfile", certificate ?? files.certificate,
        "-verify_ip", "127.0.0.1", "-connect", "127.0.0.1:\(port ?? server.port)",
      ] + more
    let request = request ?? server.head("GET", "/v1/spaces/home", "Connection: close\r\n")
    return try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(with: Result { try Self.openssl(arguments, input: request).output })
      }
    }
  }

  @Test("requests are answered over TLS 1.2 and 1.3, and over nothing else")
  func answered() async throws {
    try await LiveServer.run(tls: files) { server async throws in
      for version in ["-tls1_2", "-tls1_3"] {
        let answer = try await ask(server, [version])
        #expect(answer.hasPrefix("HTTP/1.1 200") && answer.contains("\"position\":0"), "\(version)")
      }
      #expect(try await ask(server, ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"]).isEmpty)
      let plain = try RawClient(server)
      #expect(await plain.send(server.head("GET", "/v1/spaces/home")))
      #expect(await !String(decoding: plain.receive(4096), as: UTF8.self).contains("HTTP"))
    }
  }

  @Test("operators are answered over TLS where that is asked for")
  func operators() async throws {
    let operators = try OperatorsFile()
    try await LiveServer.run(
      isWatched: true, operators: try operators.tokens, adminUsesTLS: true, tls: files
    ) { server async throws in
      let request = """
        GET /v1/admin/spaces HTTP/1.1\r
        Host: localhost\r
        Authorization: \(operators.olga)\r
        Connection: close\r\n\r\n
        """
      let answer = try await ask(server, port: server.adminPort, request: request)
      #expect(answer.hasPrefix("HTTP/1.1 200") && answer.contains(#""name":"home""#))
      await #expect(throws: (any Error).self) { try await server.watch("/health") }
    }
  }

  @Test("a new pair of files is shown to new connections, and a broken one is not")
  func reloaded() async throws {
    let old = folder.path("old.pem")
    try FileManager.default.copyItem(atPath: files.certificate, toPath: old)
    try await LiveServer.run(tls: files) { server async throws in
      #expect(try await !ask(server).isEmpty)
      // Of another pair.
      let other = TLSFiles(certificate: folder.path("c.pem"), key: folder.path("k.pem"))
      try Self.make(other)
      let key = try Data(contentsOf: URL(fileURLWithPath: files.key))
      try Data(contentsOf: URL(fileURLWithPath: other.key))
        .write(to: URL(fileURLWithPath: files.key))
      for _ in 0..<3 { #expect(try await !ask(server, trusting: old).isEmpty) }
      try key.write(to: URL(fileURLWithPath: files.key))
      try Self.make(files)
      // The time limit of the suite ends this if it is never shown.
      while try await ask(server).isEmpty {}
      #expect(try await ask(server, trusting: old).isEmpty)
    }
  }

  @Test("what can't be shown is refused at the start, by the file's name")
  func refused() throws {
    let other = TLSFiles(certificate: folder.path("c.pem"), key: folder.path("k.pem"))
    try Self.make(other)
    let cases: [(TLSFiles, String)] = [
      (TLSFiles(certificate: folder.path("none"), key: files.key), "none can't be read"),
      (TLSFiles(certificate: files.certificate, key: folder.path("none")), "none can't be read"),
      (TLSFiles(certificate: files.key, key: files.key), "key.pem has no certificate"),
      (TLSFiles(certificate: files.certificate, key: files.certificate), "has no private key"),
      (TLSFiles(certificate: files.certificate, key: other.key), "is not that of"),
    ]
    for (files, told) in cases {
      let error = #expect(throws: TLSFilesError.self) { try ServerCertificate(files) }
      #expect(error?.message.contains(told) == true, "\(error?.message ?? ""): \(told)")
    }
  }
}
#endif
