import ExampleProcesses
import Foundation

/// A real Tern server with one space.
struct SyncServer: Sendable {
  let url: String
  let token: String
}

func withSyncServer(_ body: (SyncServer) async throws -> Void) async throws {
  try await withScanFolder { folder in
    let tern = try BuiltExecutable.path("tern")
    let data = folder.path + "/server"
    let made = try await blocking {
      try ChildProcess(
        tern, arguments: ["token", "create", "--data", data, "--space", "home"]
      ).outcome()
    }
    let process = try ChildProcess(tern, arguments: ["serve", "--data", data, "--port", "0"])
    let line = try await blocking {
      var line = ""
      while !line.contains("\n"), let bytes = process.read() {
        line += String(decoding: bytes, as: UTF8.self)
      }
      return line
    }
    let start = line.range(of: "http://")?.lowerBound ?? line.startIndex
    let url = line[start...].split(whereSeparator: \.isWhitespace).first.map(String.init) ?? line
    let token = made.text.trimmingCharacters(in: .whitespacesAndNewlines)
    let result: Result<Void, any Error>
    do {
      result = .success(try await body(SyncServer(url: url, token: token)))
    } catch {
      result = .failure(error)
    }
    _ = try await blocking {
      process.kill(SIGTERM)
      return process.outcome()
    }
    try result.get()
  }
}
