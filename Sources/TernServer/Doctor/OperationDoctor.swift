#if Server
import Foundation
import GRDB
import TernCore

/// Reads a space's operations once, in its order.
///
/// Positions are contiguous, and so are the numbers of each author, with times that increase, up to
/// its head. Digests are those of the bytes, and the chain is that of the digests. An operation
/// without bytes is trimmed.
struct OperationDoctor {
  private let db: Database
  private let space: SpacePlaces
  private let findings: Findings

  /// What was seen of an author that has a head.
  private struct Trail {
    let head: AuthorHead
    /// Of its newest operation so far; 0 before the first.
    var sequence: UInt64 = 0
    var position: Int64 = 0
    /// `nil` where that one's bytes are gone.
    var end: (time: HybridTime, continues: Bool)?
  }

  private var trails: [ReplicaID: Trail] = [:]
  /// Where the scan is.
  private var next: Int64 = 1
  private var chain: ChainDigest?
  /// Whether ``chain`` is known: it is not behind a hole.
  private var hasChain = true
  /// The newest position that a base took or that is not there: behind it authors may go
  /// on further up.
  private var restart: Int64 = -1
  private var isSound = true

  init(_ db: Database, _ space: SpacePlaces, _ findings: Findings) throws {
    (self.db, self.space, self.findings) = (db, space, findings)
    let rows = try Row.fetchCursor(
      db, sql: "SELECT author, sequence, time, continues FROM head WHERE space = ?",
      arguments: [space.id])
    while let row = try rows.next() {
      guard let author = ReplicaID(bytes: row[0] as Data) else {
        try add(.head, "the author of a head is no replica's id")
        continue
      }
      let time = HybridTime(rawValue: UInt64(bitPattern: row[2] as Int64))
      trails[author] = Trail(
        head: AuthorHead(
          sequence: UInt64(clamping: row[1] as Int64), time: time, continues: row[3]))
    }
  }

  /// Returns the heads, where they are those of the operations.
  mutating func run() throws -> [ReplicaID: AuthorHead]? {
    let rows = try Row.fetchCursor(
      db,
      sql: """
        SELECT position, author, sequence, digest, chain, bytes FROM operation
        WHERE space = ? ORDER BY position
        """, arguments: [space.id])
    while let row = try rows.next() { try look(at: row) }
    if next <= space.position { try lacks(through: space.position) }
    for (author, trail) in trails.sorted(by: { $0.key < $1.key }) { try end(author, trail) }
    return isSound ? trails.mapValues(\.head) : nil
  }

  private mutating func add(
    _ check: DiagnosisCheck, _ what: String, at place: DatabaseFinding.Place = .init()
  ) throws {
    isSound = false
    try findings.add(check, what, at: place)
  }

  // MARK: - A position

  private mutating func lacks(through end: Int64) throws {
    try add(
      .positionGap, "the space lacks positions \(next) to \(end), which it gave out",
      at: .init(name: "position \(next)"))
    (restart, hasChain, next) = (end, false, end + 1)
  }

  private mutating func look(at row: Row) throws {
    let (position, sequence): (Int64, Int64) = (row[0], row[2])
    let author = ReplicaID(bytes: row[1] as Data)
    let place = DatabaseFinding.Place(
      author: author, sequence: UInt64(exactly: sequence),
      name: "position \(position)")
    if position < 1 || position > space.position {
      try add(.positionBeyond, "the space ends at \(space.position)", at: place)
      guard position == next else { return }
    }
    if position > next { try lacks(through: position - 1) }
    next = position + 1

    let digest = OperationDigest(stored: Array(row[3] as Data))
    let bytes = Array(row[5] as Data)
    let own = OperationDigest(stored: sha256(bytes))
    let link = ChainDigest(stored: Array(row[4] as Data))
    // Of two digests that differ the chain says which was changed.
    if hasChain, link != ChainDigest(after: chain, digest), link != ChainDigest(after: chain, own) {
      try add(.operationChain, "its chain is not that of what is before it", at: place)
    }
    (chain, hasChain) = (link, true)
    if sequence < 0 { return try lookAtBase(position, author, sequence, bytes, place) }

    let operation = try read(bytes, position, isOwn: own == digest, place)
    let envelope = operation?.envelope
    let isMatch =
      envelope.map { $0.replica == author && $0.sequence == UInt64(sequence) } ?? (author != nil)
    if !isMatch {
      try add(
        .operationMismatch,
        envelope.map { "it says that it is operation \($0.sequence) of \($0.replica)" }
          ?? "its author is no replica's id", at: place)
    }
    guard let author = envelope?.replica ?? author else { return }
    try follow(author, envelope?.sequence ?? UInt64(sequence), position, envelope, place)
  }

  /// It has an author of zeros and its position, negative, for a sequence. One that was dropped,
  /// and what stood on it, has an author of ones.
  private mutating func lookAtBase(
    _ position: Int64, _ author: ReplicaID?, _ sequence: Int64, _ bytes: [UInt8],
    _ place: DatabaseFinding.Place
  ) throws {
    if author != .ofPassed { restart = position }
    guard author == .ofBases || author == .ofPassed, sequence == -position, bytes.isEmpty
    else { return try add(.base, "its row is not as a base's", at: place) }
  }

  /// - Returns: `nil` where there are no bytes, or not the right ones.
  private mutating func read(
    _ bytes: [UInt8], _ position: Int64, isOwn: Bool, _ place: DatabaseFinding.Place
  ) throws -> SyncOperation? {
    let isEmptied = position <= space.emptied
    if isEmptied || bytes.isEmpty {
      if isEmptied, !bytes.isEmpty {
        try add(.operationLeft, "its bytes were to be removed, and are there", at: place)
      } else if !isEmptied {
        try add(.operationLost, "its bytes are not there, and were not removed", at: place)
      }
      return nil
    }
    guard isOwn else {
      try add(.operationDigest, "its digest is not that of its bytes", at: place)
      return nil
    }
    do throws(WireError) {
      return try SyncOperation(bytes: bytes)
    } catch {
      try add(.operationDamaged, "the operation cannot be read: \(error)", at: place)
      return nil
    }
  }

  // MARK: - An author

  /// Whether the operation can come behind the author's one before it.
  private mutating func follow(
    _ author: ReplicaID, _ sequence: UInt64, _ position: Int64,
    _ envelope: SyncOperation.Envelope?, _ place: DatabaseFinding.Place
  ) throws {
    guard var trail = trails[author] else {
      return try add(.head, "the operation's author has no head", at: place)
    }
    let isNext = sequence == trail.sequence + 1
    if !isNext, !isFree(trail) || sequence <= trail.sequence {
      try add(
        .operationGap, "it comes behind the author's operation \(trail.sequence)", at: place)
    }
    if isNext, !isFree(trail), let end = trail.end, let time = envelope?.time,
      end.continues ? time != end.time : time <= end.time
    {
      try add(
        .operationTime,
        end.continues
          ? "it goes on with a group and has another time"
          : "its time is not later than that of the operation before", at: place)
    }
    (trail.sequence, trail.position) = (sequence, position)
    trail.end = envelope.map { ($0.time, $0.continues) }
    trails[author] = trail
  }

  /// Whether operations of the author that are not here can come behind the last that is.
  private func isFree(_ trail: Trail) -> Bool { trail.position <= restart }

  private mutating func end(_ author: ReplicaID, _ trail: Trail) throws {
    let head = trail.head
    let place = DatabaseFinding.Place(author: author, sequence: head.sequence)
    if isFree(trail) ? head.sequence < trail.sequence : head.sequence != trail.sequence {
      return try add(
        .head, "the author's last operation is \(trail.sequence), and its head another", at: place)
    }
    if head.sequence == trail.sequence, let end = trail.end,
      end.time != head.time || end.continues != head.continues
    {
      return try add(.head, "the head says other things than the operation", at: place)
    }
    if head.continues {
      try findings.add(.groupOpen, "the rest of the author's group is not here", at: place)
    }
  }
}
#endif
