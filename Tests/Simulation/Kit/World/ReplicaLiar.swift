#if Server && Rehearsal
import SeededRandom
import Tern
import TernCore
import TernServer

/// A member that says what is no operation and no snapshot: how far a replica is, and what its
/// state is.
struct ReplicaLiar {
  private static let name = MemberName(stored: "mallory")
  /// The ids that it makes up for itself.
  private static let madeUp = (3...5).map { ReplicaID(high: .max, low: $0) }

  /// Draws what is said falsely.
  private var claims: SeededGenerator
  /// Those that were taken.
  private(set) var falseReports: Set<StateReport> = []

  init(_ claims: SeededGenerator) { self.claims = claims }

  /// Lies about the replicas that have just written, and about some that it makes up (INV-13), in
  /// worlds whose tokens name members.
  mutating func lie(
    to server: SimulatedServer, after operations: [SyncOperation], in space: Int
  ) throws {
    guard server.isFaulty, server.member(0) != nil else { return }
    let author = operations.randomElement(using: &claims)?.envelope.replica
    for replica in [author, Self.madeUp.randomElement(using: &claims)].compactMap(\.self) {
      if claims.happens(0.3) { try moveLease(of: replica, in: space, server) }
      if claims.happens(0.15) { try reportFalsely(of: replica, in: space, server) }
    }
  }

  /// The operator finds out who lies.
  static func ban(from server: SimulatedServer) throws {
    guard server.member(0) != nil else { return }
    for space in server.script.spaces.map(SimulatedServer.name) {
      for replica in madeUp { try server.service.ban(replica, in: space) }
    }
  }

  /// Whether the server knows that the liar has nothing to say about it.
  private func isOthers(_ replica: ReplicaID, in space: SpaceName, _ store: MemorySpaceStore)
    -> Bool
  {
    let record = store.authorRecord(of: replica, in: space)
    return record?.member != nil && record?.member != Self.name
  }

  /// Pulls in a replica's name: from further on than it is, or from where it was long ago.
  private mutating func moveLease(of replica: ReplicaID, in space: Int, _ server: SimulatedServer)
    throws
  {
    let name = SimulatedServer.name(of: space)
    // Nobody has claimed what others carry here.
    let isOthers = isOthers(replica, in: name, server.store)
    guard isOthers || Self.madeUp.contains(replica) else { return }
    let before = try server.service.lease(of: replica, in: name)
    let cursor =
      claims.happens(0.5)
      ? endCursor(of: space, server) : server.cursors[space]?.randomElement(using: &claims)
    do {
      _ = try server.service.pull(from: name, after: cursor, excluding: replica, by: Self.name)
    } catch is RemoteError {
      // One of before the server was wiped, or of what is trimmed.
      return
    }
    guard isOthers else { return server.trace.saw(.leaseMadeUp) }
    if try server.service.lease(of: replica, in: name) != before {
      server.violation = server.violation ?? "INV-13: a stranger moved the lease of \(replica)"
    }
    server.trace.saw(.leaseForged)
  }

  /// Says that a replica's state at the space's end is another one, also that a snapshot gave it.
  private mutating func reportFalsely(
    of replica: ReplicaID, in space: Int, _ server: SimulatedServer
  ) throws {
    let name = SimulatedServer.name(of: space)
    let isOthers = isOthers(replica, in: name, server.store)
    guard isOthers || Self.madeUp.contains(replica), var lie = server.reported[space],
      let end = endCursor(of: space, server),
      let table = lie.tables.keys.sorted().randomElement(using: &claims)
    else { return }
    (lie.replica, lie.cursor, lie.isRepaired) = (replica, end, claims.happens(0.5))
    lie.operations = server.store.summary(of: name).heads.digest
    lie.tables[table]?.rows &+= 1
    do {
      try server.service.report(lie, in: name, by: Self.name)
    } catch let error as RemoteError where error.code == .authorClaimed {
      return server.trace.saw(.reportForged)
    } catch is RemoteError {
      return
    }
    if isOthers {
      server.violation =
        server.violation ?? "INV-13: a stranger reported a state in the name of \(replica)"
    }
    falseReports.insert(lie)
    server.trace.saw(.reportFalse)
  }

  /// Of the space's newest position, where the last page that was given out leads to it.
  private func endCursor(of space: Int, _ server: SimulatedServer) -> RemoteCursor? {
    var cursor = server.cursors[space]?.last
    while let page = try? server.service.pull(from: SimulatedServer.name(of: space), after: cursor)
    {
      cursor = page.cursor
      if !page.hasMore { return cursor }
    }
    return nil
  }
}
#endif
