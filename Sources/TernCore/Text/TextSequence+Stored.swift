// The stored form, which equal sequences share: who inserted, in the order of ids; the pieces in
// the order of the text, each as long as it can be; what waits; and the text.

extension TextSequence {
  package var stored: [UInt8] {
    if authors.contains(where: { !$0.arrivals.isEmpty }) { return inOrder.stored }
    var writer = TextWriter(self)
    return writer.write()
  }

  /// - Parameter isTrusted: whether it was written here, and is not looked through.
  package init(stored bytes: UnsafeRawBufferPointer, isTrusted: Bool = true) throws(WireError) {
    var reader = TextReader(bytes, isTrusted: isTrusted)
    self = try reader.read()
  }
}

/// How a piece's parent is written.
private enum ParentForm: UInt64 {
  /// The author's element before the piece's first: the rest of a run.
  case run = 0
  /// The last element of the piece before.
  case previous = 1
  /// Before the first element of the piece behind.
  case next = 2
  case other = 3
}

// MARK: - Writing

/// Writes a sequence whose elements are numbered in their order.
private struct TextWriter {
  private let text: TextSequence
  private var writer = ByteWriter()
  /// Of authors that inserted something, in the order of ids.
  private let order: [Int]
  private var places: [UInt64]

  init(_ text: TextSequence) {
    self.text = text
    let authors = text.authors
    order = authors.indices.sorted { authors[$0].id < authors[$1].id }
      .filter { authors[$0].count > 0 }
    places = Array(repeating: 0, count: authors.count)
    for (place, author) in order.enumerated() { places[author] = UInt64(place) }
  }

  mutating func write() -> [UInt8] {
    writer.append(varint: UInt64(order.count))
    for author in order { append(text.authors[author]) }
    let pieces = joinedPieces()
    writer.append(varint: UInt64(pieces.count))
    var ends = Array(repeating: UInt32(0), count: text.authors.count)
    for index in pieces.indices {
      append(index, of: pieces, ends)
      ends[Int(pieces[index].author)] = pieces[index].last + 1
    }
    writer.append(varint: UInt64(text.waitingCount))
    for operation in text.waitingOperations {
      for edit in text.waiting[operation] ?? [] {
        let bytes = TextChange.edit(edit).bytes
        writer.append(replica: operation.author)
        writer.append(varint: operation.sequence)
        writer.append(varint: UInt64(bytes.count))
        writer.append(raw: bytes)
      }
    }
    writer.append(raw: text.text)
    return writer.bytes
  }

  /// An author's operations: how far the sequences are apart, how many elements each inserted, and
  /// how often that comes again.
  private mutating func append(_ author: TextSequence.Author) {
    writer.append(replica: author.id)
    var runs: [(gap: UInt64, count: UInt32, times: UInt64)] = []
    var next: UInt64 = 0
    for operation in author.operations {
      let (gap, count) = (operation.sequence - next, operation.count)
      next = operation.sequence + 1
      if let last = runs.last, last.gap == gap, last.count == count {
        runs[runs.count - 1].times += 1
      } else {
        runs.append((gap, count, 1))
      }
    }
    writer.append(varint: UInt64(runs.count))
    for run in runs {
      writer.append(varint: run.gap)
      writer.append(varint: UInt64(run.count) << 1 | (run.times > 1 ? 1 : 0))
      if run.times > 1 { writer.append(varint: run.times) }
    }
  }

  /// An element that has another child behind it than the rest of its run ends its piece: what is
  /// behind the piece is then behind all of that child's.
  private func joinedPieces() -> [TextSequence.Piece] {
    var forked: Set<TextSequence.Link> = []
    for piece in text.pieces.dropFirst() where !piece.parent.isBefore {
      if piece.rank == 0 || piece.parent != Self.run(piece) { forked.insert(piece.parent) }
    }
    var joined: [TextSequence.Piece] = []
    joined.reserveCapacity(text.pieces.count)
    text.forEachPiece { piece in
      if let last = joined.last, last.author == piece.author, last.last + 1 == piece.rank,
        last.isRemoved == piece.isRemoved, piece.parent == Self.run(piece),
        !forked.contains(piece.parent)
      {
        joined[joined.count - 1].count += piece.count
      } else {
        joined.append(piece)
      }
    }
    return joined
  }

  /// The parent of what goes on with a run.
  private static func run(_ piece: TextSequence.Piece) -> TextSequence.Link {
    .init(author: piece.author, rank: piece.rank &- 1, isBefore: false)
  }

  private mutating func append(_ index: Int, of pieces: [TextSequence.Piece], _ ends: [UInt32]) {
    let piece = pieces[index]
    let before = index > 0 ? pieces[index - 1] : nil
    let after = index + 1 < pieces.count ? pieces[index + 1] : nil
    var form = ParentForm.other
    if piece.rank > 0, piece.parent == Self.run(piece) {
      form = .run
    } else if piece.parent
      == before.map({ TextSequence.Link(author: $0.author, rank: $0.last, isBefore: false) })
      ?? TextSequence.start
    {
      form = .previous
    } else if let after,
      piece.parent == TextSequence.Link(author: after.author, rank: after.rank, isBefore: true)
    {
      form = .next
    }
    let isSameAuthor = before?.author == piece.author
    writer.append(
      varint: UInt64(piece.count) << 4 | (piece.isRemoved ? 8 : 0) | (isSameAuthor ? 4 : 0)
        | form.rawValue)
    if !isSameAuthor { writer.append(varint: places[Int(piece.author)]) }
    writer.append(zigzag: Int64(piece.rank) - Int64(ends[Int(piece.author)]))
    if form == .other {
      let parent = piece.parent
      let author = parent.author < 0 ? 0 : places[Int(parent.author)] + 1
      writer.append(varint: author << 1 | (parent.isBefore ? 1 : 0))
      if parent.author >= 0 { writer.append(varint: UInt64(parent.rank)) }
    }
  }
}

// MARK: - Reading

private struct TextReader {
  private var reader: ByteReader
  private let isTrusted: Bool
  private var text = TextSequence()
  /// How many operations there may be.
  private var room: Int

  init(_ bytes: UnsafeRawBufferPointer, isTrusted: Bool) {
    (reader, self.isTrusted) = (ByteReader(bytes), isTrusted)
    room = isTrusted ? Int.max : TextChange.Limit.foreignOperations
  }

  mutating func read() throws(WireError) -> TextSequence {
    for _ in 0..<(try reader.count("text authors")) {
      let author = try author()
      text.authorIndices[author.id] = Int32(text.authors.count)
      text.authors.append(author)
    }
    try readPieces()
    try readWaiting()
    text.buffer = Array(try reader.bytes(reader.remaining, "text"))
    try layOut()
    if !isTrusted { try check() }
    return text
  }

  private mutating func readWaiting() throws(WireError) {
    var last: TextElementID?
    for _ in 0..<(try reader.count("text waiting")) {
      let author = try reader.replica("text waiting")
      let operation = TextElementID(author, try reader.varint("text waiting"), 0)
      let bytes = try reader.bytes(reader.count("text waiting"), "text waiting")
      guard case .edit(let edit) = try TextChange(bytes) else {
        throw WireError(.malformed, "text waiting")
      }
      if !isTrusted, let last,
        (last.author, last.sequence) > (operation.author, operation.sequence)
      {
        throw WireError(.malformed, "text order")
      }
      last = operation
      text.waiting[operation, default: []].append(edit)
    }
  }

  /// Whether the pieces are a tree with each element once, in its order.
  private mutating func check() throws(WireError) {
    guard zip(text.authors, text.authors.dropFirst()).allSatisfy({ $0.id < $1.id }) else {
      throw WireError(.malformed, "text order")
    }
    // The next edit of the row would take it in.
    guard text.waiting.keys.allSatisfy({ 1...VersionVector.maximumSequence ~= $0.sequence }),
      !text.hasReady
    else {
      throw WireError(.malformed, "text waiting")
    }
    var ends = text.authors.map { _ in UInt32(0) }
    for piece in text.pieces.dropFirst().sorted(by: { $0.rank < $1.rank }) {
      guard piece.rank == ends[Int(piece.author)] else { throw WireError(.malformed, "text piece") }
      ends[Int(piece.author)] += piece.count
    }
    guard ends == text.authors.map(\.count), text.text.withUnsafeBytes({ UTF8Text.isValid($0) })
    else {
      throw WireError(.malformed, "text piece")
    }
    text.prepareIndex()
    // Those of a circle are in no walk from the beginning.
    let order = text.index!.walk((text.pieces, text.authors))
    guard order == text.pieces.indices.dropFirst().map({ Int32($0) }) else {
      throw WireError(.malformed, "text order")
    }
  }

  private mutating func author() throws(WireError) -> TextSequence.Author {
    var author = TextSequence.Author(id: try reader.replica("text author"))
    var (next, count) = (UInt64(0), UInt64(0))
    for _ in 0..<(try reader.count("text operations")) {
      let gap = try reader.varint("text operation")
      let head = try reader.varint("text operation")
      let times = head & 1 == 1 ? try reader.varint("text operation") : 1
      let each = head >> 1
      guard gap <= VersionVector.maximumSequence, each > 0, each <= UInt64(TextChange.Limit.bytes),
        times > 0, times <= UInt64(UInt32.max) / each
      else { throw WireError(.malformed, "text operation") }
      guard times <= UInt64(room) else { throw WireError(.tooLarge, "text operations") }
      room -= Int(times)
      for _ in 0..<times {
        author.operations.append((next + gap, UInt32(count), UInt32(each)))
        next += gap + 1
        count += each
        guard count < UInt64(UInt32.max), next <= VersionVector.maximumSequence + 1 else {
          throw WireError(.malformed, "text operation")
        }
      }
    }
    author.count = UInt32(count)
    return author
  }

  private mutating func readPieces() throws(WireError) {
    let count = try reader.count("text pieces")
    guard isTrusted || count <= TextChange.Limit.foreignPieces else {
      throw WireError(.tooLarge, "text pieces")
    }
    text.pieces.reserveCapacity(count + 1)
    var ends = Array(repeating: Int64(0), count: text.authors.count)
    var author = -1
    var awaitsNext = false
    for _ in 0..<count {
      let head = try reader.varint("text piece")
      if head & 4 == 0 { author = Int(truncatingIfNeeded: try reader.varint("text piece")) }
      guard text.authors.indices.contains(author), let form = ParentForm(rawValue: head & 3),
        let count = UInt32(exactly: head >> 4), count > 0
      else { throw WireError(.malformed, "text piece") }
      let rank = ends[author] &+ (try reader.zigzag("text piece"))
      guard rank >= 0, rank <= Int64(text.authors[author].count) - Int64(count) else {
        throw WireError(.malformed, "text piece")
      }
      ends[author] = rank + Int64(count)
      let before = text.pieces[text.pieces.count - 1]
      let parent: TextSequence.Link =
        switch form {
        case .run: .init(author: Int32(author), rank: UInt32(rank) &- 1, isBefore: false)
        case .previous where text.pieces.count > 1:
          .init(author: before.author, rank: before.last, isBefore: false)
        case .previous, .next: TextSequence.start
        case .other: try parent()
        }
      let place = Int32(text.pieces.count)
      text.pieces.append(
        .init(
          author: Int32(author), rank: UInt32(rank), count: count, isRemoved: head & 8 != 0,
          parent: parent, previous: place - 1))
      text.pieces[Int(place) - 1].next = place
      if awaitsNext {
        text.pieces[Int(place) - 1].parent = .init(
          author: Int32(author), rank: UInt32(rank), isBefore: true)
      }
      awaitsNext = form == .next
    }
  }

  private mutating func parent() throws(WireError) -> TextSequence.Link {
    let head = try reader.varint("text parent")
    if head == 0 { return TextSequence.start }
    let author = Int(truncatingIfNeeded: head >> 1) - 1
    guard text.authors.indices.contains(author),
      let rank = UInt32(exactly: try reader.varint("text parent")),
      rank < text.authors[author].count
    else { throw WireError(.malformed, "text parent") }
    return .init(author: Int32(author), rank: rank, isBefore: head & 1 == 1)
  }

  /// Finds the bytes of each piece in the text.
  private mutating func layOut() throws(WireError) {
    var start = 0
    let isPlain = text.buffer.allSatisfy { $0 < 0x80 }
    for place in text.pieces.indices.dropFirst() where !text.pieces[place].isRemoved {
      let count = Int(text.pieces[place].count)
      let end = isPlain ? start + count : text.buffer.index(start, scalars: count) ?? .max
      guard end <= text.buffer.count else { throw WireError(.malformed, "text") }
      text.pieces[place].byteStart = Int32(start)
      text.pieces[place].byteCount = Int32(end - start)
      start = end
    }
    guard start == text.buffer.count else { throw WireError(.malformed, "text") }
  }
}

extension ByteWriter {
  fileprivate mutating func append(zigzag value: Int64) {
    append(varint: UInt64(bitPattern: value << 1 ^ value >> 63))
  }
}

extension ByteReader {
  fileprivate mutating func zigzag(_ field: String) throws(WireError) -> Int64 {
    let value = try varint(field)
    return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
  }
}
