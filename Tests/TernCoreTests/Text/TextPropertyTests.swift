import SeededRandom
import TernCore
import Testing

@Suite("Text: changes that come in any order")
struct TextPropertyTests {
  @Test(arguments: 0..<300)
  func `every order of changes makes the text of the tree (INV-01, INV-07)`(_ seed: Int) throws {
    let history = try TextHistory(seed: UInt64(seed))
    let expected = try history.expected()
    var generator = SeededGenerator(seed: ~UInt64(seed))
    var stored = Set(history.replicas.map(\.stored))
    for _ in 0..<3 {
      // Any order at all: what was put aside comes behind later changes of its author.
      var replica = TextSequence()
      for entry in history.entries.shuffled(using: &generator) {
        _ = replica.apply(.edit(entry.edit), by: entry.author, entry.sequence)
        if Bool.random(using: &generator) { replica = try TextHistory.read(replica) }
      }
      #expect(replica.waitingCount == 0)
      #expect(String(decoding: replica.text, as: UTF8.self) == expected)
      stored.insert(replica.stored)
    }
    #expect(stored.count == 1)
  }

  @Test(arguments: 0..<50)
  func `a change that comes again changes nothing`(_ seed: Int) throws {
    let history = try TextHistory(seed: UInt64(seed))
    var replica = history.replicas[0]
    for entry in history.entries {
      let hasChanged = replica.apply(.edit(entry.edit), by: entry.author, entry.sequence)
      #expect(!hasChanged)
    }
    #expect(replica.stored == history.replicas[0].stored)
  }

  @Test func `what two typed at one place stands one behind the other`() throws {
    let ids = (1...2).map { RowReplica.id($0) }
    var replicas = [TextSequence(), TextSequence()]
    var changes: [(Int, UInt64, TextEdit)] = []
    // Forwards, backwards, and over several operations.
    for (index, words) in [["one", " two", " three"], ["eins", " zwei", " drei"]].enumerated() {
      for (turn, word) in words.enumerated() {
        var delta = TextDelta()
        delta.keep(turn == 1 ? 0 : TextHistory.count(replicas[index].text))
        delta.insert(Array(word.utf8))
        let made = replicas[index].edit(delta)
        let edit = try #require(made)
        _ = replicas[index].apply(.edit(edit), by: ids[index], UInt64(turn + 1))
        changes.append((index, UInt64(turn + 1), edit))
      }
    }
    for (author, sequence, edit) in changes {
      for index in replicas.indices {
        _ = replicas[index].apply(.edit(edit), by: ids[author], sequence)
      }
    }
    let texts = Set(replicas.map { String(decoding: $0.text, as: UTF8.self) })
    #expect(texts == [" twoone three zweieins drei"] || texts == [" zweieins drei twoone three"])
  }

  @Test func `replicas that begin with one text have it once`() throws {
    var replicas = [TextSequence(), TextSequence()]
    let text = Array("the same text".utf8)
    for index in replicas.indices {
      let hasChanged = replicas[index].apply(.initial(text), by: RowReplica.id(index), 1)
      #expect(hasChanged)
      for other in replicas.indices.reversed() {
        _ = replicas[index].apply(.initial(text), by: RowReplica.id(other), 1)
      }
      _ = replicas[index].apply(.initial(Array("another".utf8)), by: RowReplica.id(3), 1)
    }
    #expect(replicas[0].stored == replicas[1].stored)
    #expect(replicas[0].text.count == "the same textanother".utf8.count)
  }

  @Test func `a difference keeps what stayed and tears no word apart`() throws {
    let cases: [(String, String, [TextDelta.Step])] = [
      ("a cat sat", "a dog sat", [.keep(2), .remove(3), .insert(Array("dog".utf8))]),
      ("étude", "études", [.keep(5), .insert([115])]),
      ("", "new", [.insert(Array("new".utf8))]), ("gone", "", [.remove(4)]),
      ("aab", "ab", [.keep(1), .remove(1)]), ("🐦🐧", "🐧", [.remove(1)]), ("same", "same", []),
    ]
    for (old, new, steps) in cases {
      #expect(TextDelta(from: Array(old.utf8), to: Array(new.utf8)).steps == steps)
    }
    // Too different for scalars, and for most lines.
    let old = (0..<900).map { "line \($0) of the old text\n" }.joined()
    let new = (0..<900).map { $0 % 90 == 7 ? "\($0)!\n" : "line \($0) of the old text\n" }.joined()
    let delta = TextDelta(from: Array(old.utf8), to: Array(new.utf8))
    #expect(delta.applied(to: Array(old.utf8)) == Array(new.utf8))
    #expect(delta.steps.count > 10)
    let other = String((0..<5000).map { _ in Character("z") })
    let whole = TextDelta(from: Array(old.utf8), to: Array(other.utf8))
    #expect(whole.applied(to: Array(old.utf8)) == Array(other.utf8))
  }

  @Test(arguments: 0..<200)
  func `edits made over another's keep both`(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let text = Array("0123456789".utf8)
    let deltas = ["abc", "xyz"].map { letters in
      var edits = TextEdits(count: 10)
      for letter in letters {
        let start = Int.random(in: 0...edits.count, using: &generator)
        let end = min(edits.count, start + Int.random(in: 0...2, using: &generator))
        let isInserting = Bool.random(using: &generator)
        edits.replace(start..<end, with: isInserting ? String(letter) : "")
      }
      return edits.delta
    }
    let theirs = try #require(deltas[1].applied(to: text))
    let both = try #require(deltas[0].transformed(over: deltas[1]).applied(to: theirs))
    let mine = try #require(deltas[0].applied(to: text))
    let kept = text.filter { mine.contains($0) && theirs.contains($0) }
    #expect(both.filter { $0 < 58 } == kept)
    #expect(both.filter { (97...99).contains($0) } == mine.filter { $0 > 57 })
    #expect(both.filter { $0 > 99 } == theirs.filter { $0 > 57 })
  }
}
