#if Server
import TernServer
import TernTesting

/// Checks that a ``SpaceStore`` keeps what the protocol promises, row by row and without a server.
///
/// ```swift
/// let conformance = SpaceStoreConformance { try MyStore(in: emptyDatabase()) }
/// try conformance.run()
/// ```
public struct SpaceStoreConformance: Sendable {
  /// Makes a store that is empty.
  public let makeStore: @Sendable () throws -> any SpaceStore
  /// Opens what a store holds once more, while that one is still open; `nil` where that is
  /// impossible, and then nobody checks that the data outlives the object.
  public let reopen: (@Sendable (any SpaceStore) throws -> any SpaceStore)?

  public init(
    _ makeStore: @escaping @Sendable () throws -> any SpaceStore,
    reopen: (@Sendable (any SpaceStore) throws -> any SpaceStore)? = nil
  ) {
    self.makeStore = makeStore
    self.reopen = reopen
  }

  /// Runs every scenario.
  ///
  /// - Throws: ``ConformanceFailure``, or what the store throws unasked.
  public func run() throws {
    for scenario in Scenario.allCases { try run(scenario) }
  }

  /// Runs one scenario, on a store of its own.
  ///
  /// - Throws: ``ConformanceFailure``, or what the store throws unasked.
  public func run(_ scenario: Scenario) throws {
    let space = try StoreSpace(makeStore())
    guard let check = Self.checks[scenario] else { return try checkEpoch(space) }
    try check(space)
  }

  private typealias Check = @Sendable (StoreSpace) throws -> Void

  private static let checks: [Scenario: Check] = [
    .empty: OperationChecks.checkEmpty, .made: OperationChecks.checkMade,
    .positions: OperationChecks.checkPositions,
    .keys: OperationChecks.checkKeys, .chain: OperationChecks.checkChain,
    .apart: OperationChecks.checkApart,
    .pageBytes: PageChecks.checkPageBytes, .pageOperations: PageChecks.checkPageOperations,
    .excluded: PageChecks.checkExcluded, .pageBase: PageChecks.checkPageBase,
    .rollback: TransactionChecks.checkRollback, .unmade: TransactionChecks.checkUnmade,
    .reads: TransactionChecks.checkReads,
    .together: OperationChecks.checkTogether, .base: BaseChecks.checkBase,
    .passed: BaseChecks.checkPassed, .held: BaseChecks.checkHeld,
    .trim: TrimChecks.checkTrim, .release: TrimChecks.checkRelease,
    .removeTrimmed: TrimChecks.checkEmptied,
    .untrim: TrimChecks.checkUntrim, .upload: SnapshotChecks.checkUpload,
    .newest: SnapshotChecks.checkNewest,
    .dropped: SnapshotChecks.checkDropped, .kept: SnapshotChecks.checkKept,
    .bringBack: SnapshotChecks.checkBringBack,
    .forgotten: SnapshotChecks.checkForgotten, .leases: KeepingChecks.checkLeases,
    .marks: KeepingChecks.checkMarks, .standing: KeepingChecks.checkStanding,
    .state: KeepingChecks.checkState, .quota: KeepingChecks.checkQuota,
    .deadlines: KeepingChecks.checkDeadlines, .suspension: KeepingChecks.checkSuspension,
    .records: AuthorChecks.checkRecords, .authors: AuthorChecks.checkAuthors,
    .counted: AuthorChecks.checkCounted,
    .members: AuthorChecks.checkMembers, .tokens: TokenChecks.checkTokens,
    .several: TokenChecks.checkSeveral, .replaced: TokenChecks.checkReplaced,
    .places: TokenChecks.checkHeads,
    .audit: AuditChecks.checkAudit, .auditRemoval: AuditChecks.checkAuditRemoval,
    .auditBound: AuditChecks.checkAuditBound,
    .removed: RemovalChecks.checkRemoved,
    .remains: RemovalChecks.checkRemains, .keepingMost: KeepingChecks.checkKeepingMost,
  ]

  private func checkEpoch(_ space: StoreSpace) throws {
    let digits = Set("0123456789abcdef")
    let epoch = space.store.epoch
    try require(
      .cursorFollowsState, epoch.count == 32 && epoch.allSatisfy(digits.contains),
      "an epoch is not 32 hexadecimal digits: \(epoch)")
    var a = StoreAuthor(1)
    try TransactionChecks.fill(space, &a)
    guard let reopen else { return }
    let again = try StoreSpace(reopen(space.store))
    try requireEqual(.cursorFollowsState, again.store.epoch, epoch, "the epoch of a reopened store")
    let (before, after) = try (space.picture(), again.picture())
    try require(
      .acknowledgedIsStored, after == before,
      "a reopened store has something else: \(before), then \(after)")
    let part = try again.store.snapshotPart(0, of: "kept", in: again.name, isWhole: true)
    try requireEqual(.acknowledgedIsStored, part, [1, 2], "a part in a reopened store")
  }

  /// One promise; its raw value says which.
  public enum Scenario: String, Hashable, Sendable, CaseIterable {
    case empty = "a space that doesn't exist reads as empty, and reading makes none"
    case made = "an update makes a space, and says how many there were before"
    case positions = "what is appended gets the next positions, in its order"
    case keys = "heads, digests and positions are found by their keys"
    case chain = "the chain follows from the digests, and is nil at 0 and beyond the head"
    case apart = "spaces know nothing of each other"
    case pageBytes = "a page ends where its bytes do, and has one operation at least"
    case pageOperations = "a page spans so many positions at most"
    case excluded = "a page leaves an author out, and spans its operations"
    case pageBase = "a page ends before a base"
    case rollback = "a throw in an update stores nothing"
    case unmade = "a throw in a space's first update makes no space"
    case reads = "what a transaction wrote is what it reads afterwards"
    case together = "updates of one space at once run one after the other"
    case base = "a base has a position and heads, and counts as nothing"
    case passed = "bases that are passed take along what stands on them alone"
    case held = "what follows a snapshot stays when bases behind it are passed"
    case trim = "trimming moves forward only, and numbers, digests and chains stay"
    case release = "what was trimmed is counted as kept, in bounded steps"
    case removeTrimmed = "the bytes of what was trimmed go in bounded steps"
    case untrim = "what still has its bytes is served again"
    case upload = "an upload's parts come back, and only as what it is"
    case newest = "the summary has the newest whole snapshot, and the last refusal"
    case dropped = "what was dropped is not there, and its bytes go in bounded steps"
    case kept = "what was dropped and kept is listed, the newest first"
    case bringBack = "what was kept comes back whole, unless its name is taken"
    case forgotten = "what is forgotten can't come back, and its bytes go"
    case leases = "a lease is written, moved and removed"
    case marks = "marks of both kinds are kept apart, the oldest first"
    case state = "the last report of the state is kept"
    case quota = "a quota is kept and taken back"
    case deadlines = "deadlines are kept and taken back"
    case suspension = "a suspension is kept and taken back, and of one space"
    case standing = "a space has its store's epoch, and is served"
    case records = "an author's record comes back as it was written"
    case authors = "authors are counted by who has them, without those that are banned"
    case counted = "operations are counted by who has their authors"
    case members = "the members are those whom the space's tokens name"
    case tokens = "tokens are found by their digest, and listed the oldest first"
    case several = "several tokens are found by one query, each once"
    case replaced = "a token takes the place of another one, whose end comes nearer"
    case places = "the positions of several spaces are of those that are there"
    case audit = "an audit record has the next number, and is found by that and by its space"
    case auditRemoval = "a space's removal is recorded with it, and its records stay"
    case auditBound = "the oldest audit records go"
    case removed = "a removed space is gone as a whole, and its name is free at once"
    case remains = "what a removed space held goes in steps, and nothing else does"
    case keepingMost = "the space that keeps the most bytes is found"
    case epoch = "an epoch has 32 digits, and it and the data outlive the object"
  }
}
#endif
