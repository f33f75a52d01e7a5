import SeededRandom
import TernCore
import Testing

/// What a few replicas did to one text, each knowing some of what the others did.
struct TextHistory {
  struct Entry {
    var author: ReplicaID
    var sequence: UInt64
    var edit: TextEdit
  }

  /// In the order in which they were made.
  private(set) var entries: [Entry] = []
  /// The replicas, when each has everything.
  private(set) var replicas: [TextSequence]

  static func count(_ text: [UInt8]) -> Int {
    String(decoding: text, as: UTF8.self).unicodeScalars.count
  }

  static func read(_ sequence: TextSequence) throws -> TextSequence {
    try sequence.stored.withUnsafeBytes { try TextSequence(stored: $0, isTrusted: false) }
  }

  init(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let count = Int.random(in: 2...4, using: &generator)
    let ids = (0..<count).map { RowReplica.id($0) }
    replicas = Array(repeating: TextSequence(), count: count)
    var known = Array(repeating: Array(repeating: 0, count: count), count: count)
    for _ in 0..<Int.random(in: 5...60, using: &generator) {
      let own = Int.random(in: 0..<count, using: &generator)
      if Bool.random(using: &generator) {
        let other = Int.random(in: 0..<count, using: &generator)
        let log = entries.filter { $0.author == ids[other] }
        guard other != own, known[own][other] < log.count else { continue }
        let entry = log[known[own][other]]
        known[own][other] += 1
        _ = replicas[own].apply(.edit(entry.edit), by: entry.author, entry.sequence)
      } else {
        // Some operations of an author are about other rows.
        let sequence = UInt64(entries.count { $0.author == ids[own] }) * 2 + 1
        guard let edit = try Self.write(&replicas[own], &generator) else { continue }
        _ = replicas[own].apply(.edit(edit), by: ids[own], sequence)
        entries.append(Entry(author: ids[own], sequence: sequence, edit: edit))
        if Bool.random(using: &generator) {
          replicas[own] = try Self.read(replicas[own])
        }
      }
    }
    for own in replicas.indices {
      for other in replicas.indices where other != own {
        let log = entries.filter { $0.author == ids[other] }
        for entry in log[known[own][other]...] {
          _ = replicas[own].apply(.edit(entry.edit), by: entry.author, entry.sequence)
        }
      }
    }
  }

  /// A few edits, given exactly or found out from the text before and after.
  private static func write(
    _ replica: inout TextSequence, _ generator: inout SeededGenerator
  ) throws -> TextEdit? {
    let text = replica.text
    var edits = TextEdits(count: count(text))
    for _ in 0..<Int.random(in: 1...4, using: &generator) {
      let start = Int.random(in: 0...edits.count, using: &generator)
      let length = Bool.random(using: &generator) ? 0 : Int.random(in: 0...4, using: &generator)
      let inserted = Bool.random(using: &generator) ? self.text(&generator) : ""
      edits.replace(start..<min(edits.count, start + length), with: inserted)
    }
    let written = try #require(edits.delta.applied(to: text))
    #expect(count(written) == edits.count)
    let difference = TextDelta(from: text, to: written)
    #expect(difference.applied(to: text) == written)
    let edit = replica.edit(Bool.random(using: &generator) ? edits.delta : difference)
    if let edit {
      let change = TextChange.edit(edit)
      #expect(try change.bytes.withUnsafeBytes { try TextChange($0) } == change)
    }
    return edit
  }

  private static func text(_ generator: inout SeededGenerator) -> String {
    let all = ["a", "b", "é", "🐦", "x", "\n", "ab", "hello", "e\u{301}", "\u{0}"]
    return (0..<Int.random(in: 1...3, using: &generator)).map { _ in
      all.randomElement(using: &generator)!
    }.joined()
  }

  /// The text of the definition.
  func expected() throws -> String {
    var naive = NaiveText()
    var waiting = entries
    while !waiting.isEmpty {
      let ready = waiting.filter { naive.has($0.edit) }
      try #require(!ready.isEmpty)
      waiting.removeAll { naive.has($0.edit) }
      for entry in ready { naive.apply(entry.edit, by: entry.author, entry.sequence) }
    }
    return naive.text
  }
}
