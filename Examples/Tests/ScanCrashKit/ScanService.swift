import ExampleProcesses
import Foundation
import Tern
import TernNetwork

/// A `recognizer` of its own for the rounds of one lane.
struct ScanService: Sendable {
  struct Counts: Decodable, Sendable {
    var jobsAlive: Int
    var jobsCleaned: Int
    var jobsByDevice: [String: Int]
  }

  let url: String
  private let process: ChildProcess

  /// Returns when it listens. Blocks.
  init(catalogue: String) throws {
    process = try ChildProcess(
      BuiltExecutable.path("recognizer"),
      arguments: ["--catalogue", catalogue, "--port", "0", "--ping-seconds", "0.2"])
    var line = ""
    while !line.hasSuffix("\n"), let bytes = process.read() {
      line += String(decoding: bytes, as: UTF8.self)
    }
    guard let start = line.range(of: "http://") else {
      process.endInput()
      throw ScanCrashFailure("the recognizer ended with \(process.wait()), and said “\(line)”")
    }
    url = line[start.lowerBound...].trimmingCharacters(in: .newlines)
  }

  /// Blocks.
  func stop() {
    process.kill(SIGTERM)
    process.endInput()
    _ = process.wait()
  }

  func misbehave(_ what: ScanMisbehaviour) async throws {
    let response = try await SystemTransport.shared.send(
      HTTPRequest(
        .post, url + "/control/misbehave", body: .bytes(Array(what.rawValue.utf8)),
        timeout: .seconds(30)))
    guard response.status == 204 else {
      throw ScanCrashFailure("the recognizer answered \(response.status) to “\(what.rawValue)”")
    }
  }

  func counts() async throws -> Counts {
    let response = try await SystemTransport.shared.send(
      HTTPRequest(.get, url + "/control/counts", timeout: .seconds(30)))
    return try JSONDecoder().decode(
      Counts.self, from: Data(await response.collect(limit: 1 << 20)))
  }
}
