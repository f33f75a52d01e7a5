#if Server && Rehearsal
import SeededRandom
import Tern
import TernCore
import TernServer

/// What a member can say that is no operation and no snapshot: how far a replica is, and what its
/// state is.
extension SimulatedServer {
  private static let liar = MemberName(stored: "mallory")
  /// The ids that it makes up for itself.
  private static let madeUp = (3...5).map { ReplicaID(high: .max, low: $0) }

  /// Lies about the replicas that have just written, and about some that it makes up (INV-13), in
  /// worlds whose tokens name members.
  func lieAboutReplicas(after operations: [SyncOperation], in space: Int) throws {
    guard isFaulty, member(0) != nil else { return }
    let author = operations.randomElement(using: &claims)?.envelope.replica
    for replica in [author, Self.madeUp.randomElement(using: &claims)].compactMap(\.self) {
      if claims.happens(0.3) { try moveLease(of: replica, in: space) }
      if claims.happens(0.15) { try reportFalsely(of: replica, in: space) }
    }
  }

  /// The operator finds out who lies.
  func banLiars() throws {
    guard member(0) != nil else { return }
    for space in script.spaces.map(Self.name) {
      for replica in Self.madeUp { try service.ban(replica, in: space) }
    }
  }

  /// Whether the server knows that the liar has nothing to say about it.
  private func isOthers(_ replica: ReplicaID, in space: SpaceName) -> Bool {
    let record = store.authorRecord(of: replica, in: space)
    return record?.member != nil && record?.member != Self.liar
  }

  /// Pulls in a replica's name: from further on than it is, or from where it was long ago.
  private func moveLease(of replica: ReplicaID, in space: Int) throws {
    let name = Self.name(of: space)
    // Nobody has claimed what others carry here.
    let isOthers = isOthers(replica, in: name)
    guard isOthers || Self.madeUp.contains(replica) else { return }
    let before = try service.lease(of: replica, in: name)
    let cursor =
      claims.happens(0.5) ? endCursor(of: space) : cursors[space]?.randomElement(using: &claims)
    do {
      _ = try service.pull(from: name, after: cursor, excluding: replica, by: Self.liar)
    } catch is RemoteError {
      // One of before the server was wiped, or of what is trimmed.
      return
    }
    guard isOthers else { return trace.saw(.leaseMadeUp) }
    if try service.lease(of: replica, in: name) != before {
      violation = violation ?? "INV-13: a stranger moved the lease of \(replica)"
    }
    trace.saw(.leaseForged)
  }

  /// Says that a replica's state at the space's end is another one, also that a snapshot gave it.
  private func reportFalsely(of replica: ReplicaID, in space: Int) throws {
    let name = Self.name(of: space)
    let isOthers = isOthers(replica, in: name)
    guard isOthers || Self.madeUp.contains(replica), var lie = reported[space],
      let end = endCursor(of: space),
      let table = lie.tables.keys.sorted().randomElement(using: &claims)
    else { return }
    (lie.replica, lie.cursor, lie.isRepaired) = (replica, end, claims.happens(0.5))
    lie.operations = store.summary(of: name).heads.digest
    lie.tables[table]?.rows &+= 1
    do {
      try service.report(lie, in: name, by: Self.liar)
    } catch let error as RemoteError where error.code == .authorClaimed {
      return trace.saw(.reportForged)
    } catch is RemoteError {
      return
    }
    if isOthers {
      violation = violation ?? "INV-13: a stranger reported a state in the name of \(replica)"
    }
    falseReports.insert(lie)
    trace.saw(.reportFalse)
  }

  /// Of the space's newest position, where the last page that was given out leads to it.
  private func endCursor(of space: Int) -> RemoteCursor? {
    var cursor = cursors[space]?.last
    while let page = try? service.pull(from: Self.name(of: space), after: cursor) {
      cursor = page.cursor
      if !page.hasMore { return cursor }
    }
    return nil
  }
}
#endif
