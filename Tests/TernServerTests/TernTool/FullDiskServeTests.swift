#if Server && os(Linux)
import Foundation
import TernCore
import TernServer
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A disk of its own that a test can fill.
final class SmallDisk {
  let path: String
  private var filler: String { path + "/filler" }

  /// `nil` where this process may mount none.
  init?(megabytes: Int) throws {
    path =
      FileManager.default.temporaryDirectory.appending(path: "disk-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let options = "size=\(megabytes)m,mode=700"
    guard Self.run("mount", "-t", "tmpfs", "-o", options, "tern", path) else {
      try FileManager.default.removeItem(atPath: path)
      return nil
    }
  }

  deinit {
    if Self.run("umount", "-l", path) { try? FileManager.default.removeItem(atPath: path) }
  }

  private static func run(_ words: String...) -> Bool {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = words
    process.standardError = FileHandle.nullDevice
    // Without the program there is no disk either.
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }

  /// Takes all that is free, to the last byte.
  func fill() {
    let file = open(filler, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    defer { close(file) }
    for size in [1 << 16, 4096, 1] {
      let bytes = [UInt8](repeating: 7, count: size)
      while write(file, bytes, size) > 0 {}
    }
  }

  func empty() { unlink(filler) }

  static let isAllowed = (try? SmallDisk(megabytes: 1)) != nil
}

@Suite("TernTool: a disk that is full to the last byte", .timeLimit(.minutes(1)))
struct FullDiskServeTests {
  private func serve(_ data: String) throws -> (process: TernProcess, url: String) {
    let process = try TernProcess(
      ["serve", "--data", data, "--port", "0", "--reserve-bytes", "10000000"])
    let line = process.line()
    let start = "tern: listening on "
    try #require(line.hasPrefix(start), "\(line) \(process.complaints())")
    return (process, String(line.dropFirst(start.count)))
  }

  private func send(_ url: String, _ token: String, _ operations: [SyncOperation]? = nil)
    async throws -> (Int?, Data)
  {
    var request = URLRequest(url: try #require(URL(string: url)))
    request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
    if let operations {
      request.httpMethod = "POST"
      request.setValue("application/vnd.tern.batch", forHTTPHeaderField: "Content-Type")
      request.httpBody = Data(OperationBatch(operations).encoded())
    }
    let (body, answer) = try await URLSession.shared.data(for: request)
    return ((answer as? HTTPURLResponse)?.statusCode, body)
  }

  @Test(.enabled(if: SmallDisk.isAllowed, "this process may mount no disk"))
  func `it is served read-only, spaces can be deleted, and then it goes on`() async throws {
    let disk = try #require(try SmallDisk(megabytes: 48))
    let data = disk.path + "/server.tern"
    func token(_ space: String) throws -> String {
      try TernProcess.run("token", "create", "--data", data, "--space", space).output
        .trimmingCharacters(in: .newlines)
    }
    var (ada, bob) = (Author(1), Author(2))
    var (server, url) = try serve(data)
    let (greedy, home) = (try token("greedy"), try token("home"))
    #expect(FileManager.default.fileExists(atPath: data + "-reserve"))
    let kept = bob.write(count: 3)
    #expect(try await send(url + "/v1/spaces/home/operations", home, kept).0 == 200)
    // Much that packs well: it counts as it is stored, and leaves the reserve alone.
    var pushes = 0
    while pushes < 50,
      try await send(
        url + "/v1/spaces/greedy/operations", greedy, ada.write(count: 4, bytes: 250_000)
      ).0 == 200
    { pushes += 1 }
    #expect((5..<50).contains(pushes))
    server.terminate()
    #expect(server.wait() == 0)
    disk.fill()

    (server, url) = try serve(data)
    #expect(!FileManager.default.fileExists(atPath: data + "-reserve"))
    let (status, body) = try await send(url + "/v1/spaces/home/operations", home)
    #expect(status == 200)
    #expect(try OperationBatch(encoded: Array(body)).operations == kept)
    #expect(try await send(url + "/v1/spaces/home/operations", home, [bob.write()]).0 == 503)
    bob.sequence -= 1
    let delete = try TernProcess.run("space", "delete", "--data", data, "greedy", "--yes")
    #expect(delete.code == 0, "\(delete.errors)")
    #expect(try await send(url + "/v1/spaces/greedy", greedy).0 == 401)
    server.terminate()
    #expect(server.complaints().contains("read-only"))
    #expect(server.wait() == 0)

    disk.empty()
    (server, url) = try serve(data)
    #expect(try await send(url + "/v1/spaces/home/operations", home, [bob.write()]).0 == 200)
    server.terminate()
    #expect(server.wait() == 0)
    #expect(try TernProcess.run("doctor", data).code == 0)
  }
}
#endif
