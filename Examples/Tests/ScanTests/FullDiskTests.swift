#if os(Linux)
import Foundation
import ExampleProcesses
import Testing

/// On a file system of its own, with little room.
@Suite("A full disk", .serialized, .timeLimit(.minutes(2)))
struct FullDiskTests {
  static let canMount: Bool = {
    let words = ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return (try? ChildProcess("/usr/bin/env", arguments: words).outcome().status) == 0
  }()

  @Test(.enabled(if: canMount, "the system lets nobody mount a file system of its own"))
  func `a photo for which there is no room is refused by name, and what was taken stays`()
    async throws
  {
    try await withScanFolder { folder in
      let small = try await folder.photo("small.png")
      // What follows a picture's end is no part of it, and takes room.
      let large = try folder.file(
        "large.png",
        [UInt8](Data(contentsOf: URL(filePath: small))) + [UInt8](repeating: 7, count: 4 << 20))
      try FileManager.default.createDirectory(
        atPath: folder.path + "/disk", withIntermediateDirectories: true)
      let script = """
        mount -t tmpfs -o size=3m tmpfs "$1/disk" || exit 99
        data="$1/disk/scan.sqlite"
        for photo in "$2" "$3" "$2"; do "$0" add "$photo" --data "$data"; echo "= $?"; done
        "$0" status --data "$data"
        """
      let scan = try BuiltExecutable.path("scan")
      let outcome = try await blocking {
        try ScanFolder.merged([
          "/usr/bin/env", "unshare", "-rm", "sh", "-c", script, scan, folder.path, small, large,
        ]).outcome()
      }
      let lines = outcome.lines
      #expect(outcome.status == 0, "\(outcome.text)")
      #expect(lines.filter { $0.hasPrefix("= ") } == ["= 0", "= 74", "= 0"])
      #expect(outcome.text.contains("there is no room for the file"))
      #expect(lines.suffix(2) == ["waiting\tsmall.png\t0 books", "waiting\tsmall.png\t0 books"])
    }
  }
}
#endif
