import Foundation
import Tern
import TestProcesses
import Testing

struct FixtureTests {
  /// A file that was made anew would pass the tests that read it, and prove nothing.
  @Test func `what is frozen is as it was when it was frozen`() async throws {
    let list = "Tests/Fixtures.sha256"
    let files = try Line.lines(of: list).compactMap { $0.text.split(separator: " ").last }
    let folders = try FileManager.default
      .contentsOfDirectory(atPath: Repository.root.appending(path: "Tests").path)
      .map { "Tests/\($0)/Fixtures/v1" }
    let found = folders.flatMap { folder -> [String] in
      let path = Repository.root.appending(path: folder).path
      // Most tests have none.
      return (try? FileManager.default.subpathsOfDirectory(atPath: path))?
        .filter { !FileManager.default.isFolder("\(path)/\($0)") }.map { "\(folder)/\($0)" } ?? []
    }
    #expect(found.count > 40 && Set(found) == Set(files.map(String.init)))
    let root = Repository.root.path
    let check = try await run(
      ["sh", "-c", #"cd "$0" && { sha256sum --quiet -c "$1" || shasum -qc "$1"; }"#, root, list])
    #expect(check.code == 0, "\(check.output)")
  }

  @Test(arguments: DiagnosisCheck.allCases)
  func `each check of a doctor is seen to find something`(_ check: DiagnosisCheck) throws {
    let tests = Repository.files("Tests", withExtension: "swift").filter { $0.contains("Doctor") }
    let isNamed = try tests.contains {
      try Repository.text($0).contains("\"\(check.rawValue)\"")
    }
    #expect(isNamed)
  }
}

extension FileManager {
  fileprivate func isFolder(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
  }
}
