import SeededRandom
import TernCore
import Testing

@Suite("CRDT: states of which each has seen what the other has not")
struct JoinPropertyTests {
  /// Two states, each of some of every author's operations, and one of all of them.
  private struct States {
    var (left, right, both): (RowReplica, RowReplica, RowReplica)
    /// By author's number, of how many operations each has seen.
    var seen: [(left: UInt64, right: UInt64)] = []

    /// - Parameter isApart: whether no author has operations in both.
    init(_ seed: Int, isApart: Bool) throws {
      let history = try RowHistory(seed: UInt64(seed))
      var generator = SeededGenerator(seed: ~UInt64(seed))
      let events = history.shuffled(using: &generator)
      let authors = Set(events.map(\.author)).sorted()
      left = RowReplica(knowing: authors, deletes: history.deletes)
      (right, both) = (left, left)
      for author in authors {
        let last = events.filter { $0.author == author }.map(\.sequence).max()!
        let more = UInt64.random(in: 0...last, using: &generator)
        let less = isApart ? 0 : UInt64.random(in: 0...last, using: &generator)
        seen.append(Bool.random(using: &generator) ? (more, less) : (less, more))
      }
      for event in events {
        let (inLeft, inRight) = seen[authors.firstIndex(of: event.author)!]
        if event.sequence <= inLeft { try left.merge(event) }
        if event.sequence <= inRight { try right.merge(event) }
        if event.sequence <= max(inLeft, inRight) { try both.merge(event) }
      }
    }

    /// Either one, with the other taken in.
    func joined() throws -> [RowReplica] {
      var joined = (left, right)
      try joined.0.join(right) { seen[Int($0)].left < seen[Int($0)].right }
      try joined.1.join(left) { seen[Int($0)].right < seen[Int($0)].left }
      return [joined.0, joined.1]
    }
  }

  @Test(arguments: 0..<400, [false, true])
  func `both become what all operations make, whichever takes in the other (INV-01, INV-07)`(
    _ seed: Int, isApart: Bool
  ) throws {
    let states = try States(seed, isApart: isApart)
    for joined in try states.joined() {
      #expect(RowReplica.differences(joined.canonical, states.both.canonical) == [])
      #expect(joined.states == states.both.states)
      #expect(joined.abnormalities() == [])
    }
  }

  @Test(arguments: 0..<100)
  func `a state that is joined again changes nothing`(_ seed: Int) throws {
    let states = try States(seed, isApart: false)
    for var joined in try states.joined() {
      try joined.join(states.left) { _ in false }
      try joined.join(states.right) { _ in false }
      #expect(joined.states == states.both.states)
    }
  }

  @Test func `sums of nobody knows whom are added where nothing is in both, and told otherwise`()
    throws
  {
    let stamp = Stamp(time: HybridTime(rawValue: 9), author: 0)
    var (old, new) = (RowState(life: 1), RowState(life: 1))
    old.set(.counter(CounterSum(base: 5), stamp), of: 0)
    let authors = Authors([RowReplica.id(0), RowReplica.id(1)])
    new.add(3, to: 0, stamp: Stamp(time: HybridTime(rawValue: 8), author: 1), authors: authors)
    #expect(!new.sharesCounter(with: new))
    #expect(new.sharesCounter(with: old) && old.sharesCounter(with: new))
    let joined = try old.joined(
      with: new, isBehind: { $0 == 1 }, rules: [.counter], deletes: .deleteWins, authors: authors)
    #expect(joined.sum(of: 0) == 8 && joined.stamp(of: 0) == stamp)
  }

  @Test func `a text of two copies, which wrote under one number, is refused`() throws {
    func text(_ own: String, then other: String) throws -> TextSequence {
      var text = TextSequence()
      for (sequence, typed) in [own, other].enumerated() {
        var delta = TextDelta()
        delta.keep(TextHistory.count(text.text))
        delta.insert(Array(typed.utf8))
        let made = text.edit(delta)
        let author = RowReplica.id(sequence)
        _ = text.apply(.edit(try #require(made)), by: author, UInt64(sequence + 1))
      }
      return text
    }
    let (mine, theirs) = (try text("abc", then: "x"), try text("0123456789", then: "y"))
    for (left, right) in [(mine, theirs), (theirs, mine)] {
      #expect(throws: WireError.self) {
        var joined = left
        try joined.join(right)
      }
    }
  }

  @Test(arguments: 0..<300)
  func `texts become what all changes make (INV-01, INV-07)`(_ seed: Int) throws {
    let history = try TextHistory(seed: UInt64(seed))
    var generator = SeededGenerator(seed: ~UInt64(seed))
    var (left, right, both) = (TextSequence(), TextSequence(), TextSequence())
    // Any of them, so that changes wait for what they build on, there and when they are joined.
    let share = Int.random(in: 1...9, using: &generator)
    for entry in history.entries.shuffled(using: &generator) {
      let isLeft = Int.random(in: 0..<10, using: &generator) < share
      let isRight = Bool.random(using: &generator)
      let change = TextChange.edit(entry.edit)
      if isLeft { _ = left.apply(change, by: entry.author, entry.sequence) }
      if isRight { _ = right.apply(change, by: entry.author, entry.sequence) }
      if isLeft || isRight { _ = both.apply(change, by: entry.author, entry.sequence) }
    }
    for (mine, theirs) in [(left, right), (right, left)] {
      var joined = mine
      try joined.join(try TextHistory.read(theirs))
      #expect(joined.stored == both.stored)
      #expect(try TextHistory.read(joined).stored == both.stored)
      try joined.join(mine)
      #expect(joined.stored == both.stored)
    }
  }
}
