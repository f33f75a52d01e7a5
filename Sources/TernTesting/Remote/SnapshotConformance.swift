import Tern

/// Checks that a ``Remote`` keeps what the protocol promises of snapshots, through its public
/// interface. For remotes that have them; ``RemoteConformance`` is for all.
public struct SnapshotConformance: Sendable {
  /// Makes a space that is empty, and that trims without waiting for a retention when a snapshot is
  /// complete. Its clock, if it has one, shows a time after 2023.
  public let makeSpace: @Sendable () async throws -> RemoteConformance.Space

  public init(_ makeSpace: @escaping @Sendable () async throws -> RemoteConformance.Space) {
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
    case .whole: try await checkWhole(space)
    case .resumed: try await checkResumed(space)
    case .repeats: try await checkRepeats(space)
    case .refused: try await checkRefused(space)
    case .kept: try await checkKept(space)
    case .trimmed: try await checkTrimmed(space)
    case .horizon: try await checkHorizon(space)
    case .base: try await checkBase(space)
    }
  }

  /// One promise; its raw value says which.
  public enum Scenario: String, Hashable, Sendable, CaseIterable {
    case whole = "a snapshot is seen when it is complete, and given out byte for byte"
    case resumed = "an upload that was cut short goes on, with parts in any order"
    case repeats = "a part and a completion can be repeated, other bytes are refused"
    case refused = "what cannot stand for the operations before its cursor is refused by name"
    case kept = "who loads the snapshot before the newest is not cut off"
    case trimmed = "after trimming, who is behind is told to load, and numbers stay taken"
    case horizon = "nothing is trimmed that a reader has yet to pull"
    case base = "a space that lost what nobody can push goes on from a base"
  }
}

extension RemoteAuthor {
  var head: SnapshotHead {
    SnapshotHead(sequence: sequence, time: HybridTime(milliseconds: milliseconds))
  }
}

extension RemoteSpace {
  /// An offer of everything that `authors` have written.
  func offer(
    _ key: String = "key", at cursor: RemoteCursor?, of authors: [RemoteAuthor], parts: Int = 2,
    isBase: Bool = false
  ) -> SnapshotOffer {
    SnapshotOffer(
      key: key, parts: parts, cursor: cursor,
      heads: Dictionary(uniqueKeysWithValues: authors.map { ($0.id, $0.head) }), isBase: isBase)
  }

  func upload(_ offer: SnapshotOffer, by author: RemoteAuthor) async throws -> String {
    let remote = try await self(author)
    let upload = try await remote.beginSnapshot(offer)
    for index in upload.missing {
      try await remote.putSnapshotPart(try part(offer, index), index: index, of: upload.id)
    }
    try await remote.completeSnapshot(upload.id)
    return upload.id
  }

  /// What the authors here write can be read by nobody, and so nothing of it is in a row.
  func part(_ offer: SnapshotOffer, _ index: Int) throws -> [UInt8] {
    try offer.partsWithoutRows()[index]
  }

  /// Where the space ends, asked by `reader`, who has merged all of it then.
  func end(for reader: ReplicaID) async throws -> RemoteCursor {
    let remote = try await open(reader)
    let start = try await remote.greet().snapshot?.cursor
    let (_, cursor, _) = try await all(for: reader, after: start)
    return cursor
  }

  /// Runs what must be refused with a code.
  func refuses(_ code: RemoteError.Code, _ what: String, _ body: () async throws -> Void)
    async throws
  {
    do {
      try await body()
    } catch let error as RemoteError {
      return try requireEqual(.limitsHold, error.code, code, "the code that refuses \(what)")
    }
    throw ConformanceFailure(.limitsHold, "\(what) was not refused")
  }
}
