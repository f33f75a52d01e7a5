#if Server
import Foundation
import GRDB
import TernCore
import TernServer
import Testing

@Suite("TernTool: who may read the file, and what reaches a terminal", .timeLimit(.minutes(1)))
struct GuardedOutputTests {
  private let folder: TemporaryFolder
  private let data: String

  init() throws {
    folder = try TemporaryFolder()
    data = folder.path("server.tern")
  }

  private static func texts(in document: Any) -> [String] {
    switch document {
    case let text as String: [text]
    case let list as [Any]: list.flatMap(texts)
    case let members as [String: Any]: members.values.flatMap(texts)
    default: []
    }
  }

  private func rights(_ suffix: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: data + suffix)[.posixPermissions] as? Int
  }

  /// What `serve` says until it is ended.
  private func served(_ meanwhile: () throws -> Void = {}) throws -> String {
    let server = try TernProcess(["serve", "--data", data, "--port", "0"])
    #expect(server.line().hasPrefix("tern: listening on "))
    try meanwhile()
    server.terminate()
    let complaints = server.complaints()
    #expect(server.wait() == 0)
    return complaints
  }

  @Test func `a new file and what is beside it are their owner's alone`() throws {
    let complaints = try served {
      _ = try TernProcess.run("token", "create", "--data", data, "--space", "home")
      #expect(try ["", "-wal", "-shm", "-serving"].map(rights) == [0o600, 0o600, 0o600, 0o600])
    }
    #expect(!complaints.contains("rights"))
    #expect(try TernProcess.run("doctor", data).output.contains("0 remarks"))
  }

  @Test func `a file that others can read is named once, and served`() throws {
    try openStore(data).close()
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: data)
    let lines = try served().split(separator: "\n").filter { $0.contains("rights are 644") }
    #expect(lines.count == 1)
    #expect(lines.first?.contains("chmod 600") == true && lines.first?.contains(data) == true)
    #expect(try rights("") == 0o644)
    let doctor = try TernProcess.run("doctor", data)
    #expect(doctor.code == 0)
    #expect(doctor.output.contains("file-open") && doctor.output.contains("chmod 600"))
  }

  @Test func `names of a damaged file are written out`() throws {
    let store = try openStore(data)
    var generator = SeededGenerator(state: 3)
    let service = SpaceService(store: store, clock: .system)
    _ = try service.createToken(for: .home, using: &generator)
    try store.close()
    try DatabaseQueue(path: data).write {
      try $0.execute(
        sql: "UPDATE space SET name = ?, position = -1",
        arguments: ["h\u{1B}[2Jo\u{9B}31m\u{202E}me"])
    }
    for command in [
      ["space", "list", "--data", data], ["token", "list", "--data", data], ["doctor", data],
      ["doctor", "--json", data], ["inspect", data], ["inspect", "--json", data],
      ["explain", data, "t\u{1B}[2J", "k"],
      ["space", "delete", "--data", data, "x\u{1B}]0;t\u{7}"],
    ] {
      let run = try TernProcess.run(command)
      let text = run.output + run.errors
      #expect(!text.isEmpty)
      #expect(
        !text.unicodeScalars.contains { $0.isObeyed && $0 != "\n" && $0 != "\t" },
        "\(command.joined(separator: " ").shown())")
      if command.contains("--json") {
        let name = "h\u{1B}[2Jo\u{9B}31m\u{202E}me"
        let document = try JSONSerialization.jsonObject(with: Data(run.output.utf8))
        #expect(Self.texts(in: document).contains(name))
      }
    }
  }
}
#endif
