import Testing

/// The rooms of the design and what each may import, by module or by line. Anything else is an edge
/// that the design does not have.
struct RoomTests {
  private static let rooms: [String: Set<String>] = [
    // No I/O: the C library is for the rehearsal of a crash alone, and of Foundation there is a type.
    "TernCore": [
      "CZlib", "Synchronization", "Glibc", "Musl", "Darwin", "import struct Foundation.Date",
    ],
    "TernDatabase": ["TernCore", "CTernSQLite", "GRDB", "GRDBSQLite"] + system,
    "TernJobs": ["TernCore", "TernDatabase", "TernNetwork", "GRDB"] + system,
    "TernNetwork": ["TernCore", "CCurl", "CNetlink", "Network"] + system,
    "Tern": ["TernCore", "TernDatabase", "TernJobs", "TernNetwork", "GRDB"] + system,
    "SeededRandom": [],
    "TernTesting": [
      "SeededRandom", "Tern", "TernCore", "TernDatabase", "TernJobs", "TernNetwork", "GRDB",
    ] + system,
    "TernTelemetry": ["TernCore", "TernJobs", "Logging", "Metrics", "Synchronization"],
    "TernServer": ["CTernPages", "TernCore", "TernDatabase", "TernPages", "GRDB"] + hummingbird
      + system,
    "TernServerTesting": ["TernCore", "TernServer", "TernTesting"] + system,
    // The command stands above all rooms.
    "TernTool": [
      "Tern", "TernCore", "TernDatabase", "TernJobs", "TernPages", "TernServer", "GRDB",
      "CTernPages", "ArgumentParser", "Configuration", "Logging",
    ] + system,
    // It knows nothing of Tern: what a page shows is for the program to say.
    "TernPages": [
      "HTTPTypes", "Hummingbird", "HummingbirdCore", "Logging", "NIOCore", "NIOPosix",
      "ServiceLifecycle",
    ] + system,
  ]
  private static let system: Set<String> = [
    "Darwin", "Dispatch", "Foundation", "FoundationNetworking", "Glibc", "Observation",
    "Synchronization",
  ]
  private static let hummingbird: Set<String> = [
    "CCrypto", "CPostgreSQL", "CTernAPI", "CryptoKit", "HTTPTypes", "Hummingbird",
    "HummingbirdCore", "HummingbirdTLS", "JWTKit", "Logging", "NIOCore", "NIOHTTP1", "NIOHTTPTypes",
    "NIOHTTPTypesHTTP1", "NIOSSL", "ServiceLifecycle", "Tracing", "UnixSignals",
  ]

  @Test func `imports go one direction`() throws {
    var strangers: [String] = []
    for path in Repository.files("Sources", withExtension: "swift") {
      let room = try #require(path.split(separator: "/").dropFirst().first.map(String.init))
      let allowed = try #require(Self.rooms[room], "\(room) is no room of the design")
      for line in try Line.lines(of: path) {
        guard let module = importedModule(line.text),
          allowed.isDisjoint(with: [module, line.text])
        else { continue }
        strangers.append("\(line)")
      }
    }
    #expect(strangers.isEmpty, "\(strangers.joined(separator: "\n"))")
  }

  @Test(arguments: [
    ("import GRDB", "GRDB"), ("@_exported import TernCore", "TernCore"),
    ("import struct Foundation.URL", "Foundation"), ("package import CZlib", "CZlib"),
    ("@testable import Tern", "Tern"),
  ])
  func `an import is read in each of its forms`(_ text: String, _ module: String) {
    #expect(importedModule(text) == module)
  }

  /// What needs several is in `JobTransaction`.
  @Test func `a type of a job queue's rows has one table's SQL, and is that table's only one`()
    throws
  {
    var types: [String: Set<Substring>] = [:]
    for path in Repository.files("Sources/TernJobs/Store", withExtension: "swift") {
      let type = path.split(separator: "/").last!.split(separator: /[+.]/)[0]
      guard type.hasSuffix("Rows") else { continue }
      let tables = try Repository.text(path).matches(of: /JobTables\.(\w+)/).map(\.output.1)
        .filter { !$0.hasPrefix("is") }
      #expect(Set(tables).count == 1, "\(path): \(Set(tables).sorted())")
      for table in tables { types[String(table), default: []].insert(type) }
    }
    #expect(types.count > 5 && types.values.allSatisfy { $0.count == 1 }, "\(types)")
  }

  @Test func `a comment about imports is none`() {
    #expect(importedModule("/// A server is killed during an import that") == nil)
    #expect(importedModule("let imports = 1") == nil)
  }
}

/// The module that a line imports.
func importedModule(_ line: String) -> String? {
  let words = line.split(separator: " ")
  guard let keyword = words.firstIndex(of: "import"),
    words[..<keyword].allSatisfy({
      $0.hasPrefix("@") || ["public", "package", "internal", "private"].contains($0)
    })
  else { return nil }
  let kinds: Set<Substring> = ["struct", "class", "enum", "func", "protocol", "typealias", "var"]
  let rest = words[(keyword + 1)...].drop { kinds.contains($0) }
  return rest.first.flatMap { $0.split(separator: ".").first }.map(String.init)
}

private func + (left: Set<String>, right: Set<String>) -> Set<String> { left.union(right) }
