import ExampleWork
import Foundation
import Synchronization
import TernNetwork
import Testing

/// Answers with what it has, and remembers who asked for what.
private final class Shelf: HTTPTransport {
  private let answers: Mutex<[String: (status: Int, bytes: [UInt8])]>
  let asked = Mutex<[String]>([])

  init(_ answers: [String: (status: Int, bytes: [UInt8])]) { self.answers = Mutex(answers) }

  func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    asked.withLock { $0.append(request.url) }
    guard let answer = answers.withLock({ $0[request.url] })
    else { throw HTTPError(.unreachable, origin: nil, "there is no network") }
    return HTTPResponse(status: answer.status, body: HTTPBody(answer.bytes))
  }

  func shutdown() async {}
}

@Suite("Covers: pictures from elsewhere", .timeLimit(.minutes(1)))
struct PictureCacheTests {
  private let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0]

  private func inFolder(_ body: (String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "tern-\(UUID())").path
    defer {
      // There is none where nothing was kept.
      try? FileManager.default.removeItem(atPath: folder)
    }
    try await body(folder)
  }

  private func picture(_ count: Int) -> [UInt8] { jpeg + [UInt8](repeating: 1, count: count - 4) }

  @Test func `a picture is fetched once, also by a later start, and again once it is cleared`()
    async throws
  {
    try await inFolder { folder in
      let shelf = Shelf(["https://covers.test/1": (200, picture(100))])
      for start in 1...2 {
        let cache = PictureCache(folder, transport: shelf)
        #expect(await cache.usedBytes == (start - 1) * 100)
        let found = try await cache.picture(at: "https://covers.test/1")
        #expect(found == Data(picture(100)))
        #expect(await cache.usedBytes == 100)
      }
      #expect(shelf.asked.withLock { $0.count } == 1)
      let cache = PictureCache(folder, transport: shelf)
      try await cache.clear()
      #expect(await cache.usedBytes == 0)
      let found = try await cache.picture(at: "https://covers.test/1")
      #expect(found != nil)
      #expect(shelf.asked.withLock { $0.count } == 2)
    }
  }

  @Test(arguments: [
    "", "x", "/etc/passwd", "file:///etc/passwd", "http://covers.test/1", "http://127.0.0.1/1",
    "ftp://covers.test/1", "https://", "https://covers.test/" + String(repeating: "a", count: 200),
  ])
  func `nobody is asked at an address of another kind`(address: String) async throws {
    try await inFolder { folder in
      let shelf = Shelf([:])
      let found = try await PictureCache(folder, transport: shelf).picture(at: address)
      #expect(found == nil)
      #expect(shelf.asked.withLock { $0 } == [])
    }
  }

  @Test func `what is no picture, or too large, is not kept`() async throws {
    try await inFolder { folder in
      let shelf = Shelf([
        "https://covers.test/html": (200, Array("<html><script>".utf8)),
        "https://covers.test/svg": (200, Array("<svg xmlns=".utf8)),
        "https://covers.test/none": (200, []), "https://covers.test/gone": (404, jpeg),
        "https://covers.test/large": (200, picture(5 << 20)),
        "https://covers.test/busy": (503, jpeg),
      ])
      let cache = PictureCache(folder, transport: shelf)
      for name in ["html", "svg", "none", "gone", "large"] {
        let found = try await cache.picture(at: "https://covers.test/\(name)")
        #expect(found == nil, "\(name)")
      }
      for name in ["busy", "offline"] {
        await #expect(throws: HTTPError.self, "\(name)") {
          _ = try await cache.picture(at: "https://covers.test/\(name)")
        }
      }
      #expect(await cache.usedBytes == 0)
    }
  }

  @Test func `over the limit those go that nobody has asked for the longest`() async throws {
    try await inFolder { folder in
      let addresses = (1...4).map { "https://covers.test/\($0)" }
      let shelf = Shelf(
        Dictionary(uniqueKeysWithValues: addresses.map { ($0, (status: 200, bytes: picture(400))) })
      )
      let cache = PictureCache(folder, limitBytes: 1_000, transport: shelf)
      for address in [0, 1, 0, 2].map({ addresses[$0] }) {
        let found = try await cache.picture(at: address)
        #expect(found != nil)
        // Files have times of their own.
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
          let path = folder + "/" + name
          let attributes = try FileManager.default.attributesOfItem(atPath: path)
          let date = try #require(attributes[.modificationDate] as? Date)
          try FileManager.default.setAttributes(
            [.modificationDate: date.addingTimeInterval(-60)], ofItemAtPath: path)
        }
      }
      #expect(await cache.usedBytes == 800)
      let before = shelf.asked.withLock { $0.count }
      for address in [addresses[0], addresses[2]] { _ = try await cache.picture(at: address) }
      #expect(shelf.asked.withLock { $0.count } == before)
      _ = try await cache.picture(at: addresses[1])
      #expect(shelf.asked.withLock { $0.count } == before + 1)
    }
  }

  @Test func `a damaged file is fetched again, and a full disk keeps nobody from a picture`()
    async throws
  {
    try await inFolder { folder in
      let address = "https://covers.test/1"
      let shelf = Shelf([address: (200, picture(100))])
      _ = try await PictureCache(folder, transport: shelf).picture(at: address)
      let name = try #require(try FileManager.default.contentsOfDirectory(atPath: folder).first)
      try Data("damaged".utf8).write(to: URL(filePath: folder + "/" + name))
      let again = try await PictureCache(folder, transport: shelf).picture(at: address)
      #expect(again == Data(picture(100)))
      // In place of a full disk: there can be no such folder.
      let cache = PictureCache("/dev/null/covers", transport: shelf)
      let found = try await cache.picture(at: address)
      #expect(found == Data(picture(100)))
      #expect(await cache.usedBytes == 0)
    }
  }
}
