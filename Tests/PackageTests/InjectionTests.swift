import Foundation
import Testing

/// Clock, randomness, identifiers and tasks come from outside, so that a simulation can own them;
/// and no error is swallowed without a reason.
struct InjectionTests {
  /// What reaches past the injection. Drawing from a generator that was handed in is fine.
  private static let forbidden = [
    #"\bTask\s*(<[^>]*>)?\s*(\.detached\s*)?(\([^)]*\)\s*)?\{"#, #"\bTask\.sleep\b"#,
    #"\busleep\("#, #"\bThread\.sleep\b"#, #"\bDate\(\)"#, #"\bDate\.now\b"#, #"\bUUID\(\)"#,
    #"\.random\((?!.*using:)"#, #"\bSystemRandomNumberGenerator\(\)"#,
  ]

  @Test func `clock, randomness and tasks are injected`() throws {
    let patterns = try Self.forbidden.map { try Regex($0) }
    // The command is where clock and randomness come from.
    let found = try excusable("injected default") { text in
      patterns.contains { text.contains($0) }
    }.filter { !$0.hasPrefix("Sources/TernTool/") }
    #expect(found.isEmpty, "\(found.joined(separator: "\n"))")
  }

  /// Who opens files past SQLite, and which: none is a database that the process may have open.
  /// Closing one drops the locks that SQLite has on it (`DatabaseFileBytes`).
  private static let openers = [
    "Tern/Inspection/ReadOnlyFile": "a copy that it makes, and logs, on which there are no locks",
    "TernCore/Rehearsal/CrashPoint+Process": "the log of a rehearsal",
    "TernDatabase/Files/AppendedFile": "a shared folder's, and what a download has so far",
    "TernDatabase/Files/DurableFile": "a job's",
    "TernDatabase/Files/FileLock": "a lock's",
    "TernDatabase/Files/OwnerOnly": "a new database, which nobody has open yet",
    "TernDatabase/Files/PartFile": "the parts of a snapshot",
    "TernDatabase/Files/ReadFile": "a shared folder's",
    "TernJobs/Files/FolderOwner": "the note of whose a folder is",
    "TernNetwork/Upload/BodySource+Copy": "a copy of a body",
    "TernNetwork/Upload/OpenFile": "a body that an app sends",
    "TernServer/Access/JWTDenials": "an operator's list",
    "TernServer/Access/JWTKeySource": "an issuer's keys",
    "TernServer/Access/OperatorTokens": "an operator's list",
    "TernServer/HTTP/ServerCertificate": "a certificate's",
    "TernServer/Store/SQLite/ServingLock": "a lock's",
    "TernServer/Store/PostgreSQL/PasswordFile": "a password",
    "TernTool/GivenSettings": "an operator's settings",
    "TernTesting/Conformance/Jobs/JobQueueConformance+Death": "a job's",
    "TernTesting/Network/ScriptedTransfers": "a body that a job sends",
  ]

  @Test func `no file is opened past SQLite that may be a database in use`() throws {
    let patterns = try [
      #"FileHandle\(for"#, #"contents\(atPath"#, #"\.copyItem\("#,
      #"(Data|String|InputStream)\(.*contentsOf"#,
      #"\bO_(RDONLY|RDWR|WRONLY)\b"#, #"(fopen|creat)\("#, #"InputStream\("#,
    ].map { try Regex($0) }
    let found = try Repository.files("Sources", withExtension: "swift").filter { path in
      try Line.lines(of: path).contains { line in
        !isComment(line.text) && patterns.contains { line.text.codePart.contains($0) }
      }
    }
    let known = Set(Self.openers.keys.map { "Sources/\($0).swift" })
    #expect(Set(found) == known)
  }

  /// What may fail without anybody being told, and why that is right.
  private static let reasons: [(pattern: String, why: String)] = [
    (#"defer \{ try\? \w+\.(close|removeItem)"#, "closing what nobody reads any more"),
    (#"try\? JSONDecoder\(\)"#, "the caller says what a text that is not JSON means"),
    (#"try\? encoder\.encode"#, "a document of ours always has a JSON form, or this traps"),
    (#"(guard let|var|let) .* = try\? \w+\(|\(try\? HTTPOrigin"#, "nil is the answer"),
    (#"try\? await environment\.clock\.sleep"#, "cancellation ends the loop"),
  ]

  @Test func `no error is swallowed without a reason`() throws {
    let patterns = try Self.reasons.map { try Regex($0.pattern) }
    let found = try excusable(nil) { text in
      text.firstMatch(of: /\btry\?/) != nil && !patterns.contains { text.contains($0) }
    }
    #expect(found.isEmpty, "\(found.joined(separator: "\n"))")
  }

  /// Lines of code in `Sources` that match and have no comment on them or just above; with
  /// `excuse`, the comment must hold these words.
  private func excusable(_ excuse: String?, _ matches: (String) -> Bool) throws -> [String] {
    try Repository.files("Sources", withExtension: "swift").flatMap { path in
      let lines = try Line.lines(of: path)
      return lines.indices.filter { index in
        let text = lines[index].text
        guard !isComment(text), matches(text.codePart) else { return false }
        // A reason can stand above the statement that the line is a part of.
        let near = lines[max(0, index - 3)...index].map(\.text)
        return !near.contains { $0.contains("//") && (excuse.map($0.contains) ?? true) }
      }.map { "\(lines[$0])" }
    }
  }

  private func isComment(_ text: String) -> Bool {
    text.trimmingCharacters(in: .whitespaces).hasPrefix("//")
  }
}

extension String {
  /// What stands before a comment.
  fileprivate var codePart: String {
    range(of: " //").map { String(self[..<$0.lowerBound]) } ?? self
  }
}
