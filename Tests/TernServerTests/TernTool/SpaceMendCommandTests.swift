#if Server
import TernCore
import TernServer
import Testing

@Suite("TernTool: tern space refill, restore and suspend")
struct SpaceMendCommandTests {
  private let folder: TemporaryFolder
  private let store: SQLiteSpaceStore
  private let service: SpaceService
  private let data: String

  init() throws {
    folder = try TemporaryFolder()
    data = folder.path("server.tern")
    store = try openStore(data)
    var limits = ServerLimits()
    limits.retention = .zero
    service = SpaceService(store: store, clock: .system, limits: limits)
    var ada = Author(1)
    _ = try service.push(ada.write(count: 3), to: .home)
    try service.upload(SnapshotOffer(at: service.end(), of: [ada]))
    try maintain(service)
  }

  private func tern(_ words: String...) throws -> (output: String, errors: String, code: Int32) {
    try TernProcess.run(["space"] + words + ["--data", data])
  }

  @Test func `a space is opened for bases, and closed again`() throws {
    func offer() throws -> RemoteError.Code? {
      var bob = Author(2)
      _ = bob.write()
      var ada = Author(1)
      _ = ada.write(count: 3)
      let end = try #require(service.greet(.home).snapshot?.cursor)
      return service.refusalOf(SnapshotOffer("b", at: end, of: [ada, bob], isBase: true))
    }
    #expect(try offer() == .refillNeeded)
    let opened = try tern("refill", "home")
    #expect(opened.code == 0 && opened.output.hasPrefix("space home takes bases until 20"))
    #expect(try offer() == nil)
    #expect(try tern("refill", "home", "--close").code == 0)
    #expect(try offer() == .refillNeeded)
  }

  @Test func `a space is suspended, is listed so, and resumed`() throws {
    var ada = Author(1)
    _ = ada.write(count: 3)
    let new = ada.write()
    #expect(try tern("suspend", "home").code == 0)
    #expect(try tern("list").output.contains("home  3 operations, 0 tokens, suspended since 20"))
    #expect(refusal { _ = try service.push([new], to: .home) }?.code == .spaceSuspended)
    #expect(try tern("resume", "home").code == 0)
    #expect(try service.push([new], to: .home).accepted == 1)
    #expect(try !tern("list").output.contains("suspended"))
    for word in ["suspend", "resume"] {
      let absent = try tern(word, "other")
      #expect(absent.code != 0 && absent.errors.contains("there is no space other"))
    }
  }

  @Test func `who holds the horizon is told, and released`() throws {
    let eve = Author(5).replica
    _ = try service.pull(from: .home, after: service.end(), excluding: eve)
    let told = try tern("horizon", "home").output
    #expect(told.contains("ends at    3") && told.contains("trimmed    up to 3"))
    #expect(told.contains("\(eve)  of nobody  has read up to 3  today"))
    func release() throws -> Int32 {
      try TernProcess.run(["replica", "release", "home", "\(eve)", "--data", data]).code
    }
    #expect(try release() == 0)
    #expect(try !tern("horizon", "home").output.contains("\(eve)"))
    #expect(try release() != 0)
  }

  @Test func `operations that were trimmed are back`() throws {
    #expect(try service.greet(.home).trimmed == 3)
    #expect(try tern("quota", "home").output.contains("bytes for a restore"))
    let answer = try tern("restore", "home")
    #expect(answer.code == 0)
    #expect(answer.output == "3 operations are back, and are served from 1 on\n")
    #expect(try everything(service).count == 3)
    #expect(try tern("restore", "home").output.hasPrefix("0 operations are back"))
  }

  @Test func `what does not fit is refused, and an end is made`() throws {
    #expect(try tern("quota", "home", "--operations", "2").code == 0)
    let refused = try tern("restore", "home")
    #expect(refused.code != 0 && refused.errors.contains("--over-quota"))
    #expect(try service.greet(.home).trimmed == 3)
    #expect(try tern("quota", "home", "--reset", "--bytes", "10").code == 0)
    let restored = try tern("restore", "home", "--over-quota")
    #expect(restored.code == 0 && restored.output.contains("at most 10: pushes wait"))
    let end = try tern("restore", "home", "--end")
    #expect(end.code == 0 && end.output == "space home is trimmed as before\n")
    try maintain(service)
    #expect(try service.greet(.home).trimmed == 3)
  }

  @Test(arguments: ["refill", "restore"])
  func `a space that is not there is named`(_ command: String) throws {
    let answer = try tern(command, "none")
    #expect(answer.code != 0 && answer.errors.contains("there is no space none"))
  }
}
#endif
