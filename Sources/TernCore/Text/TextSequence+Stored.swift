// The stored form, which equal sequences share: who inserted, in the order of ids; the pieces in
// the order of the text, each as long as it can be; what waits; and the text.

extension TextSequence {
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

  package var stored: [UInt8] {
    if authors.contains(where: { !$0.arrivals.isEmpty }) { return inOrder.stored }
    var writer = ByteWriter()
    let order = authors.indices.sorted { authors[$0].id < authors[$1].id }
      .filter { authors[$0].count > 0 }
    var places = Array(repeating: UInt64(0), count: authors.count)
    for (place, author) in order.enumerated() { places[author] = UInt64(place) }
    writer.append(varint: UInt64(order.count))
    for author in order { append(authors[author], to: &writer) }
    let pieces = joinedPieces()
    writer.append(varint: UInt64(pieces.count))
    var ends = Array(repeating: UInt32(0), count: authors.count)
    for index in pieces.indices {
      append(index, of: pieces, places, ends, to: &writer)
      ends[Int(pieces[index].author)] = pieces[index].last + 1
    }
    writer.append(varint: UInt64(waitingCount))
    for operation in waitingOperations {
      for edit in waiting[operation] ?? [] {
        let bytes = TextChange.edit(edit).bytes
        writer.append(replica: operation.author)
        writer.append(varint: operation.sequence)
        writer.append(varint: UInt64(bytes.count))
        writer.append(raw: bytes)
      }
    }
    writer.append(raw: text)
    return writer.bytes
  }

  /// An author's operations: how far the sequences are apart, how many elements each inserted, and
  /// how often that comes again.
  private func append(_ author: Author, to writer: inout ByteWriter) {
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
  private func joinedPieces() -> [Piece] {
    var forked: Set<Link> = []
    for piece in pieces.dropFirst() where !piece.parent.isBefore {
      if piece.rank == 0 || piece.parent != Self.run(piece) { forked.insert(piece.parent) }
    }
    var joined: [Piece] = []
    joined.reserveCapacity(pieces.count)
    forEachPiece { piece in
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
  private static func run(_ piece: Piece) -> Link {
    Link(author: piece.author, rank: piece.rank &- 1, isBefore: false)
  }

  private func append(
    _ index: Int, of pieces: [Piece], _ places: [UInt64], _ ends: [UInt32],
    to writer: inout ByteWriter
  ) {
    let piece = pieces[index]
    let before = index > 0 ? pieces[index - 1] : nil
    let after = index + 1 < pieces.count ? pieces[index + 1] : nil
    var form = ParentForm.other
    if piece.rank > 0, piece.parent == Self.run(piece) {
      form = .run
    } else if piece.parent
      == before.map({ Link(author: $0.author, rank: $0.last, isBefore: false) }) ?? Self.start
    {
      form = .previous
    } else if let after,
      piece.parent == Link(author: after.author, rank: after.rank, isBefore: true)
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

  // MARK: - Reading

  /// - Parameter isTrusted: whether it was written here, and is not looked through.
  package init(stored bytes: UnsafeRawBufferPointer, isTrusted: Bool = true) throws(WireError) {
    var reader = ByteReader(bytes)
    var room = isTrusted ? Int.max : TextChange.Limit.foreignOperations
    for _ in 0..<(try reader.count("text authors")) {
      let author = try Self.author(&reader, &room)
      authorIndices[author.id] = Int32(authors.count)
      authors.append(author)
    }
    try readPieces(&reader, isTrusted: isTrusted)
    try readWaiting(&reader, isTrusted: isTrusted)
    buffer = Array(try reader.bytes(reader.remaining, "text"))
    try layOut()
    if !isTrusted { try check() }
  }

  private mutating func readWaiting(_ reader: inout ByteReader, isTrusted: Bool) throws(WireError) {
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
      waiting[operation, default: []].append(edit)
    }
  }

  /// Whether the pieces are a tree with each element once, in its order.
  private mutating func check() throws(WireError) {
    guard zip(authors, authors.dropFirst()).allSatisfy({ $0.id < $1.id }) else {
      throw WireError(.malformed, "text order")
    }
    // The next edit of the row would take it in.
    guard waiting.keys.allSatisfy({ 1...VersionVector.maximumSequence ~= $0.sequence }), !hasReady
    else {
      throw WireError(.malformed, "text waiting")
    }
    var ends = authors.map { _ in UInt32(0) }
    for piece in pieces.dropFirst().sorted(by: { $0.rank < $1.rank }) {
      guard piece.rank == ends[Int(piece.author)] else { throw WireError(.malformed, "text piece") }
      ends[Int(piece.author)] += piece.count
    }
    guard ends == authors.map(\.count), text.withUnsafeBytes({ UTF8Text.isValid($0) }) else {
      throw WireError(.malformed, "text piece")
    }
    prepareIndex()
    // Those of a circle are in no walk from the beginning.
    guard index!.walk((pieces, authors)) == Array(pieces.indices.dropFirst().map { Int32($0) })
    else {
      throw WireError(.malformed, "text order")
    }
  }

  private static func author(_ reader: inout ByteReader, _ room: inout Int) throws(WireError)
    -> Author
  {
    var author = Author(id: try reader.replica("text author"))
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

  private mutating func readPieces(_ reader: inout ByteReader, isTrusted: Bool) throws(WireError) {
    let count = try reader.count("text pieces")
    guard isTrusted || count <= TextChange.Limit.foreignPieces else {
      throw WireError(.tooLarge, "text pieces")
    }
    pieces.reserveCapacity(count + 1)
    var ends = Array(repeating: Int64(0), count: authors.count)
    var author = -1
    var awaitsNext = false
    for _ in 0..<count {
      let head = try reader.varint("text piece")
      if head & 4 == 0 { author = Int(truncatingIfNeeded: try reader.varint("text piece")) }
      guard authors.indices.contains(author), let form = ParentForm(rawValue: head & 3),
        let count = UInt32(exactly: head >> 4), count > 0
      else { throw WireError(.malformed, "text piece") }
      let rank = ends[author] &+ (try reader.zigzag("text piece"))
      guard rank >= 0, rank <= Int64(authors[author].count) - Int64(count) else {
        throw WireError(.malformed, "text piece")
      }
      ends[author] = rank + Int64(count)
      let before = pieces[pieces.count - 1]
      let parent: Link =
        switch form {
        case .run: Link(author: Int32(author), rank: UInt32(rank) &- 1, isBefore: false)
        case .previous where pieces.count > 1:
          Link(author: before.author, rank: before.last, isBefore: false)
        case .previous, .next: Self.start
        case .other: try parent(&reader)
        }
      let place = Int32(pieces.count)
      pieces.append(
        Piece(
          author: Int32(author), rank: UInt32(rank), count: count, isRemoved: head & 8 != 0,
          parent: parent, previous: place - 1))
      pieces[Int(place) - 1].next = place
      if awaitsNext {
        pieces[Int(place) - 1].parent = Link(
          author: Int32(author), rank: UInt32(rank), isBefore: true)
      }
      awaitsNext = form == .next
    }
  }

  private func parent(_ reader: inout ByteReader) throws(WireError) -> Link {
    let head = try reader.varint("text parent")
    if head == 0 { return Self.start }
    let author = Int(truncatingIfNeeded: head >> 1) - 1
    guard authors.indices.contains(author),
      let rank = UInt32(exactly: try reader.varint("text parent")), rank < authors[author].count
    else { throw WireError(.malformed, "text parent") }
    return Link(author: Int32(author), rank: rank, isBefore: head & 1 == 1)
  }

  /// Finds the bytes of each piece in the text.
  private mutating func layOut() throws(WireError) {
    var start = 0
    let isPlain = buffer.allSatisfy { $0 < 0x80 }
    for place in pieces.indices.dropFirst() where !pieces[place].isRemoved {
      let count = Int(pieces[place].count)
      let end = isPlain ? start + count : buffer.index(start, scalars: count) ?? .max
      guard end <= buffer.count else { throw WireError(.malformed, "text") }
      pieces[place].byteStart = Int32(start)
      pieces[place].byteCount = Int32(end - start)
      start = end
    }
    guard start == buffer.count else { throw WireError(.malformed, "text") }
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
