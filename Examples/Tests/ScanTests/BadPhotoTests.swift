import ExampleProcesses
import Foundation
import Testing

/// What is no photo gets a clear answer, and nothing of it is kept.
@Suite("Photos that can't be taken", .serialized, .timeLimit(.minutes(2)))
struct BadPhotoTests {
  private static func header(width: Int, height: Int) -> [UInt8] {
    func bytes(_ number: Int) -> [UInt8] { (0..<4).map { UInt8(number >> (24 - $0 * 8) & 0xff) } }
    return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + bytes(13) + Array("IHDR".utf8)
      + bytes(width) + bytes(height) + [8, 2, 0, 0, 0]
  }

  @Test(arguments: [
    (Array("Dear diary".utf8), "is no JPEG or PNG picture, whatever its name says"),
    ([], "is empty; copy it again"),
    (header(width: 20_000, height: 10_000), "is 20000 × 10000; at most 100 megapixels"),
    (header(width: 0, height: 10), "is 0 × 10"),
    (header(width: Int(UInt32.max), height: Int(UInt32.max)), "at most 100 megapixels"),
    ([0xFF, 0xD8, 0xFF], "is no JPEG or PNG picture"),
  ])
  func `a file that is no photo is refused with the reason`(
    _ bytes: [UInt8], _ reason: String
  ) async throws {
    try await withScanFolder { folder in
      let added = try await folder("add", folder.file("shelf.jpg", bytes))
      #expect(added.status == 64)
      #expect(added.text.contains("refused: \(folder.path)/shelf.jpg "))
      #expect(added.text.contains(reason))
      #expect(added.text.contains("1 of 1 were not accepted"))
      #expect(try await folder("status").text == "")
      #expect(folder.keptFiles == [])
    }
  }

  @Test func `a file over 50 MB, a folder and what is not there are refused`() async throws {
    try await withScanFolder { folder in
      let large = try folder.file("large.jpg", [])
      try FileHandle(forWritingTo: URL(filePath: large)).truncate(atOffset: 51 << 20)
      #expect(try await folder("add", large).text.contains("has 51 MB, more than 50"))
      let missing = try await folder("add", folder.path + "/none.jpg")
      #expect(missing.status == 64)
      #expect(missing.text.contains("can't be read: No such file or directory"))
      let itself = try await folder("add", folder.path)
      #expect(itself.status == 64)
      #expect(itself.text.contains("refused: \(folder.path) is no file"))
      #expect(folder.keptFiles == [])
    }
  }

  @Test(.enabled(if: geteuid() == 0, "only root can become somebody who may not read"))
  func `a file that may not be read is refused`() async throws {
    try await withScanFolder { folder in
      let photo = try await folder.photo("shelf.png")
      chmod(photo, 0)
      chmod(folder.path, 0o777)
      let scan = try BuiltExecutable.path("scan")
      let added = try await blocking {
        try ScanFolder.merged([
          "/usr/bin/env", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", scan,
          "add", photo, "--data", folder.database,
        ]).outcome()
      }
      #expect(added.status == 64)
      #expect(added.text.contains("shelf.png can't be read: Permission denied"))
    }
  }

  @Test func `photos beside a refused one are taken, also a PNG called JPEG`() async throws {
    try await withScanFolder { folder in
      let good = try await folder.photo("png.jpg")
      let bad = try folder.file("text.jpg", Array("no".utf8))
      let jpeg = try await folder.photo("other.jpeg", "jpeg")
      let added = try await folder("add", good, bad, jpeg)
      #expect(added.status == 64)
      #expect(added.text.contains("accepted: png.jpg"))
      #expect(added.text.contains("accepted: other.jpeg"))
      #expect(added.text.contains("1 of 3 were not accepted"))
      #expect(try await folder("status").lines.map { $0.prefix(7) } == ["waiting", "waiting"])
      #expect(folder.keptFiles.count == 2)
    }
  }

  @Test func `a damaged photo fails by itself, with the reason, and the next one goes on`()
    async throws
  {
    try await Service.run { service in
      try await withScanFolder { folder in
        let whole = try Data(contentsOf: URL(filePath: await folder.photo("whole.png")))
        let damaged = try folder.file("damaged.png", Array(whole.prefix(40)))
        _ = try await folder("add", damaged, folder.path + "/whole.png")
        #expect(try await folder("run", "--once", "--service", service.url).status == 1)
        let status = try await folder("status")
        #expect(status.lines.count == 3)
        #expect(
          status.lines[0].hasPrefix("failed\tdamaged.png\t0 books\tthe photo can't be prepared"))
        #expect(status.lines[0].hasSuffix("; `scan retry` tries again"))
        #expect(status.lines[1] == "done\twhole.png\t3 books")
        #expect(try await service.counts().jobsCreated == 1)
        #expect(try await folder("retry").text == "1 are tried again by `scan run`\n")
        #expect(try await folder("status").lines[0].hasPrefix("waiting\tdamaged.png"))
      }
    }
  }
}
