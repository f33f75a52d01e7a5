#if Server
import TernCore
import TernServer
import Testing

@Suite("TernTool: tern snapshot")
struct SnapshotCommandTests {
  @Test func `a refused snapshot is listed with its reason, taken and kept`() throws {
    let folder = try TemporaryFolder()
    let data = folder.path("server.tern")
    let store = try openStore(data)
    let service = SpaceService(store: store, clock: HandClock().clock)
    var ada = Author(1)
    _ = try service.push(ada.write(count: 2), to: .home)
    let offer = SnapshotOffer(at: try service.end(), of: [ada])
    let id = try service.beginSnapshot(offer, in: .home).id
    for index in 0..<2 { try service.putSnapshotPart([7], index: index, of: id, in: .home) }
    #expect(refusal { try service.completeSnapshot(id, in: .home) }?.code == .snapshotRefused)

    func tern(_ words: String...) throws -> (output: String, errors: String, code: Int32) {
      try TernProcess.run(["snapshot"] + words + ["--data", data])
    }
    let list = try tern("list", "home")
    #expect(list.code == 0)
    #expect(list.output.contains("\(id)  up to 2  2 bytes"))
    #expect(list.output.contains("refused: it can't be read"))
    #expect(try tern("accept", "home", id).code == 0)
    #expect(try tern("list", "home").output.hasSuffix("taken\n"))
    #expect(try service.greet(.home).snapshot?.id == id)
    #expect(try tern("drop", "home", id).code == 0)
    #expect(try tern("list", "home").output.isEmpty)
    for words in [["accept", "home", id], ["drop", "home", "none"], ["list", "work"]] {
      let answer = try TernProcess.run(["snapshot"] + words + ["--data", data])
      #expect(answer.code != 0)
      #expect(!answer.errors.isEmpty)
    }
    try store.close()
  }
}
#endif
