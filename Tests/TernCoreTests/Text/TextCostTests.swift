import SeededRandom
import Testing

@testable import TernCore

/// Changes that a peer formed so that each of them is dear. All took minutes.
@Suite("Text: what hostile changes cost", .timeLimit(.minutes(1)))
struct TextCostTests {
  private typealias Place = (parent: TextElementID?, isBefore: Bool)
  private typealias Change = (author: ReplicaID, sequence: UInt64, edit: TextEdit)

  /// Inserts a letter at each place.
  private func insertion(_ places: [Place]) -> TextEdit {
    var edit = TextEdit()
    for place in places {
      edit.inserted.append(
        .init(parent: place.parent, isBefore: place.isBefore, count: 1, byteCount: 1))
    }
    edit.text = [UInt8](repeating: 65, count: places.count)
    return edit
  }

  private func apply(_ changes: [Change], to text: inout TextSequence) {
    for change in changes {
      _ = text.apply(.edit(change.edit), by: change.author, change.sequence)
    }
  }

  // MARK: - Late changes

  /// A letter of `a` beside each of `b`'s, in the order of `places`.
  private func letters(beside b: ReplicaID, by a: ReplicaID, _ places: [UInt64]) -> [Change] {
    places.enumerated().map { index, place in
      (a, UInt64(index + 1), insertion([(TextElementID(b, place, 0), false)]))
    }
  }

  private func typed(_ count: UInt64, by b: ReplicaID) -> [Change] {
    (1...count).map { sequence in
      (b, sequence, insertion([(sequence == 1 ? nil : TextElementID(b, sequence - 1, 0), false)]))
    }
  }

  /// Where each moves the numbers of all that came before it.
  @Test(arguments: [false, true])
  func `changes that come free in descending order, or in any, cost no more than others`(
    _ isAny: Bool
  ) {
    let count: UInt64 = 25_000
    let (a, b) = (RowReplica.id(1), RowReplica.id(2))
    var places = Array((1...count).reversed())
    var generator = SeededGenerator(seed: 1)
    if isAny { places.shuffle(using: &generator) }
    let (beside, typed) = (letters(beside: b, by: a, places), typed(count, by: b))
    var (late, inOrder) = (TextSequence(), TextSequence())
    apply(beside, to: &late)
    #expect(late.waitingCount == Int(count))
    apply(typed, to: &late)
    apply(typed + beside, to: &inOrder)
    #expect(late.waitingCount == 0)
    #expect(late.stored == inOrder.stored)
  }

  @Test(arguments: 1...100)
  func `what came late, was removed, edited and joined is what came in order`(_ seed: UInt64)
    throws
  {
    var generator = SeededGenerator(seed: seed)
    let (a, b, c) = (RowReplica.id(1), RowReplica.id(2), RowReplica.id(3))
    let count = UInt64.random(in: 1...12, using: &generator)
    var places = Array(1...count)
    places.shuffle(using: &generator)
    let beside = letters(beside: b, by: a, places)
    let typed = typed(count, by: b)
    // One of them is removed, and there is a letter beside another.
    let (first, second) = (places.randomElement(using: &generator)!, places.last!)
    var removal = insertion([(TextElementID(a, second, 0), true)])
    removal.removed = [.init(first: TextElementID(a, first, 0), count: 1)]
    var late = TextSequence()
    apply(beside, to: &late)
    apply([(c, 1, removal)] + typed, to: &late)
    var inOrder = TextSequence()
    apply(typed + beside + [(c, 1, removal)], to: &inOrder)
    var other = TextSequence()
    apply(Array(typed.prefix(Int(count) / 2)), to: &other)
    try other.join(late)
    for text in [late, other] { #expect(text.stored == inOrder.stored) }
    let delta = TextDelta(from: late.text, to: Array("AxA".utf8))
    #expect(late.edit(delta) == inOrder.edit(delta))
  }

  /// An author can have the id that an initial text's content makes.
  @Test(arguments: 0..<6)
  func `an initial text that comes behind its author's later numbers is numbered before them`(
    _ order: Int
  ) throws {
    let initial = Array("é".utf8)
    let (x, y) = (ContentName.of(initial), RowReplica.id(1))
    var removal = TextEdit()
    removal.removed = [.init(first: TextElementID(x, 0, 0), count: 1)]
    var changes: [(ReplicaID, TextChange)] = [
      (x, .edit(insertion([(nil, false)]))), (y, .initial(initial)), (y, .edit(removal)),
    ]
    for (place, other) in [(2, order % 3), (1, order / 3)] { changes.swapAt(place, other) }
    var text = TextSequence()
    for (author, change) in changes { _ = text.apply(change, by: author, 1) }
    #expect(text.text == [65] && text.waitingCount == 0)
    var inOrder = TextSequence()
    for (author, change) in changes.sorted(by: { "\($0)" < "\($1)" }) {
      _ = inOrder.apply(change, by: author, 1)
    }
    #expect(text.stored == inOrder.stored)
    let read = try text.stored.withUnsafeBytes { try TextSequence(stored: $0, isTrusted: false) }
    #expect(read.stored == text.stored)
  }

  // MARK: - Deep trees

  /// Each letter before the last one; and a letter before each, of an author whose are first.
  private func deep(_ count: UInt64) -> [Change] {
    let (a, z) = (RowReplica.id(1), RowReplica.id(2))
    var changes: [Change] = [(z, 1, insertion([(nil, false)]))]
    for sequence in 2...count {
      changes.append((z, sequence, insertion([(TextElementID(z, sequence - 1, 0), true)])))
    }
    return changes + [(a, 1, insertion((1...count).map { (TextElementID(z, $0, 0), true) }))]
  }

  /// Where each finds its place by a walk down the whole tree.
  @Test func `letters far in a deep tree cost no more than others`() throws {
    var text = TextSequence()
    apply(deep(50_000), to: &text)
    #expect(text.text.count == 100_000)
    // A peer's state is looked through.
    let stored = text.stored
    let read = try stored.withUnsafeBytes { try TextSequence(stored: $0, isTrusted: false) }
    #expect(read.stored == stored)
  }

  @Test func `letters far in a deep tree stand where those near do`() throws {
    let changes = deep(400)
    var (far, near) = (TextSequence(), TextSequence())
    apply(changes, to: &far)
    apply(Array(changes.dropLast()), to: &near)
    for (index, place) in changes.last!.edit.inserted.enumerated() {
      let edit = insertion([(place.parent, place.isBefore)])
      apply([(changes.last!.author, UInt64(index + 1), edit)], to: &near)
      near = try near.stored.withUnsafeBytes { try TextSequence(stored: $0) }
    }
    #expect(far.text == near.text)
    // The places of the elements, whichever operation they are of.
    #expect(far.edit(TextDelta(from: far.text, to: []))?.removed.count == 401)
    #expect(near.edit(TextDelta(from: near.text, to: []))?.removed.count == 800)
    var delta = TextDelta()
    delta.keep(401)
    delta.insert(Array("b".utf8))
    let (first, second) = (far.edit(delta)?.inserted[0], near.edit(delta)?.inserted[0])
    #expect(first?.parent?.author == second?.parent?.author)
    #expect(first?.isBefore == second?.isBefore)
  }

  // MARK: - Letters of several bytes

  private func longRun(_ count: Int, by a: ReplicaID) -> Change {
    var edit = TextEdit()
    edit.inserted = [
      .init(parent: nil, isBefore: false, count: UInt32(count), byteCount: UInt32(2 * count))
    ]
    edit.text = Array(String(repeating: "é", count: count).utf8)
    return (a, 1, edit)
  }

  /// Where each counts the bytes of all letters before it.
  @Test func `a long run is cut from its end as soon as from its beginning`() {
    let (a, b) = (RowReplica.id(1), RowReplica.id(2))
    let count = 2_000_000
    let places = (1...100_000).map { (TextElementID(a, 1, UInt32(count - 2 * $0)), false) }
    var text = TextSequence()
    apply([longRun(count, by: a), (b, 1, insertion(places))], to: &text)
    #expect(text.text.count == 2 * count + places.count)
    let start = 2 * (count - 2 * places.count)
    #expect(Array(text.text[(start + 2)...].prefix(5)) == Array("Aéé".utf8))
  }

  /// Where each operation's bytes are counted from the run's first letter.
  @Test func `a run of many operations is joined at once`() throws {
    let (a, count) = (RowReplica.id(1), UInt64(200_000))
    let edits: [Change] = (1...count).map { sequence in
      var edit = insertion([(sequence == 1 ? nil : TextElementID(a, sequence - 1, 0), false)])
      edit.inserted[0].byteCount = 2
      edit.text = Array("é".utf8)
      return (a, sequence, edit)
    }
    var (whole, part) = (TextSequence(), TextSequence())
    apply(edits, to: &whole)
    apply(Array(edits.dropLast()), to: &part)
    try part.join(whole)
    #expect(part.stored == whole.stored)
  }

  // MARK: - Removals

  /// Where each looks at each piece of what it removes.
  @Test func `what was removed piece by piece is removed again at once`() {
    let (a, b) = (RowReplica.id(1), RowReplica.id(2))
    let count: UInt32 = 100_000
    var (typed, pieces, all) = (TextEdit(), TextEdit(), TextEdit())
    typed.inserted = [.init(parent: nil, isBefore: false, count: count, byteCount: count)]
    typed.text = [UInt8](repeating: 65, count: Int(count))
    pieces.removed = stride(from: 0, to: count, by: 2).map {
      .init(first: TextElementID(a, 1, $0), count: 1)
    }
    var text = TextSequence()
    apply([(a, 1, typed), (b, 1, pieces)], to: &text)
    #expect(text.text.count == Int(count) / 2)
    for sequence: UInt64 in 2...20_000 {
      // From another place each time.
      let first = UInt32(sequence % 1000)
      all.removed = [.init(first: TextElementID(a, 1, first), count: count - first)]
      apply([(b, sequence, all)], to: &text)
    }
    #expect(text.text.isEmpty)
  }
}
