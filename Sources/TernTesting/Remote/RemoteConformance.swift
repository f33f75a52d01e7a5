import Tern

/// Checks that a ``Remote`` keeps what the protocol promises, through its public interface.
///
/// ```swift
/// let conformance = RemoteConformance {
///   let space = try await MyServer.makeSpace()
///   return { device in MyRemote(space, for: device) }
/// }
/// try await conformance.run()
/// ```
public struct RemoteConformance: Sendable {
  /// One device's remote to a space.
  public typealias Space = @Sendable (ReplicaID) async throws -> any Remote

  /// Makes a space that is empty. Its clock, if it has one, shows a time after 2023.
  public let makeSpace: @Sendable () async throws -> Space

  public init(_ makeSpace: @escaping @Sendable () async throws -> Space) {
    self.makeSpace = makeSpace
  }

  /// Runs every scenario.
  ///
  /// - Throws: ``ConformanceFailure``, or what a remote throws unasked.
  public func run() async throws {
    for scenario in Scenario.allCases { try await run(scenario) }
  }

  /// - Throws: ``ConformanceFailure``, or what a remote throws unasked.
  public func run(_ scenario: Scenario) async throws {
    let space = RemoteSpace(open: try await makeSpace())
    switch scenario {
    case .empty: try await checkEmpty(space)
    case .push: try await checkPush(space)
    case .repeats: try await checkRepeats(space)
    case .conflict: try await checkConflict(space)
    case .gap: try await checkGap(space)
    case .times: try await checkTimes(space)
    case .carried: try await checkCarried(space)
    case .excluded: try await checkExcluded(space)
    case .pages: try await checkPages(space)
    case .fragments: try await checkFragments(space)
    case .cursor: try await checkCursor(space)
    case .reopened: try await checkReopened(space)
    case .together: try await checkTogether(space)
    case .positions: try await checkPositions(space)
    }
  }

  /// One promise; its raw value says which.
  public enum Scenario: String, Hashable, Sendable, CaseIterable {
    case empty = "an empty space says so"
    case push = "what a push acknowledged is in the heads and reaches others byte for byte"
    case repeats = "a push that is repeated changes nothing"
    case conflict = "other content under the same number is refused by name, with its whole push"
    case gap = "a push that leaves out a number is refused, and stores nothing"
    case times = "times that do not increase are refused"
    case carried = "any replica can bring the operations of others"
    case excluded = "a replica is not given its own, and its cursor passes them"
    case pages = "pages follow each other without a hole, each author's in order"
    case fragments = "a group's fragments arrive whole and in order"
    case cursor = "a cursor stays good while the space grows, and a strange one is refused"
    case reopened = "another remote to the same space has its name, and holds the same"
    case together = "two devices that push at once are both stored"
    case positions = "positions tell where the space is, and that it grows"
  }
}

/// An author of operations that only a remote sees, so that their bodies need mean nothing.
struct RemoteAuthor {
  let id: ReplicaID
  private(set) var sequence: UInt64 = 0
  private(set) var milliseconds: Int64 = 1_700_000_000_000
  private var isInGroup = false

  init(_ number: UInt64) {
    id = .numbered(number)
  }

  mutating func next(_ text: String = "", bytes: Int = 0, continues: Bool = false) -> SyncOperation
  {
    sequence += 1
    if !isInGroup { milliseconds += 10 }
    isInGroup = continues
    // Not to be shortened, so that a size is a size on the wire too.
    var generator = SeededGenerator(seed: sequence)
    let filling = (0..<bytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    let envelope = SyncOperation.Envelope(
      replica: id, sequence: sequence, time: HybridTime(milliseconds: milliseconds),
      continues: continues)
    return SyncOperation(envelope, body: Array("\(text)\(sequence)".utf8) + filling)
  }

  mutating func next(_ count: Int) -> [SyncOperation] { (0..<count).map { _ in next() } }

  /// Leaves out a number.
  mutating func skip() { sequence += 1 }
  /// Sets its clock back, so that the next time is that of the operation before.
  mutating func repeatTime() { milliseconds -= 10 }
}

/// A space under test with the steps that scenarios are made of.
struct RemoteSpace: Sendable {
  let open: RemoteConformance.Space

  func callAsFunction(_ author: RemoteAuthor) async throws -> any Remote {
    try await open(author.id)
  }

  /// Everything that a stranger is given, page by page.
  func all(for reader: ReplicaID = .numbered(99), after cursor: RemoteCursor? = nil) async throws
    -> (operations: [SyncOperation], cursor: RemoteCursor, pages: Int)
  {
    let remote = try await open(reader)
    var operations: [SyncOperation] = []
    var (place, pages) = (cursor, 0)
    while true {
      let page = try await remote.pull(after: place, excluding: reader)
      operations += page.operations
      place = page.cursor
      pages += 1
      if !page.hasMore { return (operations, page.cursor, pages) }
      try require(.drains, pages < 10_000, "a pull has no end")
    }
  }

  /// Pushes what must be refused whole.
  func refuses(
    _ operations: [SyncOperation], of author: RemoteAuthor, _ code: RemoteError.Code,
    _ what: String,
    naming named: SyncOperation? = nil
  ) async throws {
    let remote = try await self(author)
    let before = try await (remote.greet().heads, all().operations)
    do {
      _ = try await remote.push(operations)
    } catch let error as RemoteError {
      try requireEqual(.acknowledgedIsStored, error.code, code, "the code that refuses \(what)")
      if let envelope = named?.envelope {
        try requireEqual(
          .acknowledgedIsStored, error.replica, envelope.replica, "the replica that \(what) names")
        try requireEqual(
          .acknowledgedIsStored, error.sequence, envelope.sequence, "the number that \(what) names")
      }
      let after = try await (remote.greet().heads, all().operations)
      try require(
        .operationsAreAtomic, before == after, "\(what) was refused, and something of it is stored")
      return
    }
    throw ConformanceFailure(.acknowledgedIsStored, "\(what) was acknowledged")
  }
}
