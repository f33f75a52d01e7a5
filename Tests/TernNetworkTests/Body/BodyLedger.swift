/// What was taken of a body and what its readers got, with the rules between the two: the model
/// beside a ``BodyPipe``.
///
/// The byte at a position is that position, so that one which comes twice, late or never is seen.
struct BodyLedger {
  enum End: Hashable {
    case well
    case failure(Int)
    case abandoned(Int)
  }

  /// How a reader was answered.
  enum Reading: Hashable {
    case bytes([UInt8])
    case end(End)
    case inUse
  }

  /// What is known as a read begins.
  struct Beginning {
    let last: Int
    let number: Int
    let hasOther: Bool
    let abandonment: End?
  }

  /// Of the buffer; `nil` where nobody promises one.
  let limitBytes: Int?
  static let longestChunk = 4
  private static let most = 200

  private(set) var takenCount = 0
  private(set) var isWriterWaiting = false
  private var isGiven = [Bool](repeating: false, count: 256)
  private var last = -1
  /// The first counts.
  private(set) var end: End?
  private(set) var abandonment: End?
  /// Reads that have begun and not returned.
  private(set) var readers = 0
  private var begun = 0

  init(limitBytes: Int?) { self.limitBytes = limitBytes }

  var givenCount: Int { isGiven.count { $0 } }
  var heldCount: Int { takenCount - givenCount }
  var isOver: Bool { end != nil || abandonment != nil }

  // MARK: - The wire

  /// The bytes that the wire has next.
  func next(_ count: Int) -> [UInt8] {
    (takenCount..<min(takenCount + count, Self.most)).map { UInt8($0) }
  }

  mutating func took(_ chunk: [UInt8]) throws {
    try OrderViolation.require(!isOver || chunk.isEmpty, "bytes were taken after the end")
    takenCount += chunk.count
  }

  mutating func refused() throws {
    try OrderViolation.require(
      limitBytes.map { heldCount >= $0 } ?? false, "\(heldCount) bytes are no full buffer")
    isWriterWaiting = true
  }

  func unwanted() throws { try OrderViolation.require(isOver, "bytes are refused before the end") }

  mutating func resumed() throws {
    try OrderViolation.require(isWriterWaiting, "a writer was woken that does not wait")
    isWriterWaiting = false
  }

  mutating func ended(_ how: End) { if !isOver { end = how } }

  mutating func abandoned(_ how: End) { abandonment = abandonment ?? how }

  // MARK: - Readers

  mutating func beginRead() -> Beginning {
    begun += 1
    readers += 1
    return Beginning(
      last: last, number: begun, hasOther: readers > 1, abandonment: abandonment)
  }

  mutating func endRead(_ beginning: Beginning, _ reading: Reading) throws {
    readers -= 1
    switch reading {
    case .inUse:
      // One that began later may have been the first to wait.
      try OrderViolation.require(
        beginning.hasOther || begun > beginning.number, "in use, and nobody reads")
    case .bytes(let bytes):
      try OrderViolation.require(beginning.abandonment == nil, "bytes came after the abandonment")
      try give(bytes, after: beginning.last)
    case .end(let how):
      let isTold = how == abandonment || (how == end && beginning.abandonment == nil)
      try OrderViolation.require(isTold, "a reader was told \(how)")
    }
  }

  private mutating func give(_ bytes: [UInt8], after last: Int) throws {
    guard let first = bytes.first.map(Int.init) else { throw OrderViolation("nothing was read") }
    let range = first..<(first + bytes.count)
    try OrderViolation.require(
      bytes.map(Int.init) == Array(range) && first > last && range.upperBound <= takenCount,
      "\(bytes) came after byte \(last) of \(takenCount)")
    for position in range {
      try OrderViolation.require(!isGiven[position], "byte \(position) came twice")
      isGiven[position] = true
    }
    self.last = max(self.last, range.upperBound - 1)
  }

  // MARK: - When nothing can happen by itself

  /// Everybody who was woken has gone on.
  func checkAtRest() throws {
    try OrderViolation.require(readers <= 1, "\(readers) readers wait")
    if readers > 0 {
      try OrderViolation.require(!isOver, "a reader waits after the end")
      try OrderViolation.require(heldCount == 0, "a reader waits for \(heldCount) bytes that came")
    }
    guard let limitBytes, !isOver else { return }
    try OrderViolation.require(
      !isWriterWaiting || heldCount >= limitBytes, "a writer waits, with \(heldCount) bytes held")
    try OrderViolation.require(
      heldCount < limitBytes + Self.longestChunk, "\(heldCount) bytes are held")
  }

  /// Everything was read, and this is how it ended.
  func checkWhole(_ how: End) throws {
    try OrderViolation.require(how == abandonment ?? end, "it ended as \(how)")
    guard abandonment == nil else { return }
    try OrderViolation.require(heldCount == 0, "\(heldCount) bytes are lost")
  }
}
