import TernCore

/// What the engine remembers from one push to the next.
struct PushState {
  /// Halved while the remote finds a push too large.
  var bytes: Int
  /// Up to where the remote of that epoch is known to hold each author's operations as this
  /// replica does, and not others under the same numbers.
  var confirmed = (epoch: "", id: ReplicaID?.none, heads: VersionVector())
  /// The remote's at the last greeting.
  var position: UInt64 = 0
  var losses = 0
  /// What there was when the pushes in a row began.
  var stored = VersionVector()
  /// Authors of whom the remote refused something, which another replica brought: until the next
  /// greeting.
  var notCarried: [ReplicaID: RemoteError] = [:]
  /// The last operation that the remote takes of each replica that its operator banned.
  var bans: [ReplicaID: UInt64] = [:]

  /// What a remote lost or put back, be it under its old epoch, may come again from another copy.
  mutating func note(_ greeting: RemoteGreeting) {
    if greeting.losses != losses || greeting.position < position
      || !greeting.heads.covers(confirmed.heads)
    {
      confirmed.heads = VersionVector()
    }
    (position, losses) = (greeting.position, greeting.losses)
    notCarried = [:]
    bans = greeting.authors.compactMapValues(\.bannedAfter)
  }

  /// From the remote, or to it.
  mutating func noteConfirmed(_ heads: VersionVector) {
    for (author, sequence) in heads.sequences {
      confirmed.heads[author] = max(confirmed.heads[author], sequence)
    }
  }

  /// What the remote holds, less those of this replica that may be someone else's: a copy of this
  /// database has the same id and counts on, and so can a peer that lies. They are pushed again,
  /// and acknowledged only if they are the same. These are the newest, and all that the remote
  /// never acknowledged: of two copies the newest can be the same, and not those before. Of others
  /// that is done where there is more to push of them: two copies of one database may have met this
  /// device by two remotes.
  ///
  /// - Parameters:
  ///   - held: what the remote of that epoch holds.
  ///   - id: this replica's.
  ///   - acknowledged: up to which own operation the remote acknowledged them.
  mutating func headsToConfirm(
    _ held: VersionVector, epoch: String, id: ReplicaID, acknowledged: UInt64
  ) -> VersionVector {
    var heads = held
    if confirmed.epoch != epoch || confirmed.id != id { confirmed = (epoch, id, VersionVector()) }
    if heads[id] > confirmed.heads[id] {
      heads[id] = min(heads[id] - 1, max(acknowledged, confirmed.heads[id]))
    }
    // The remote takes nothing more of those that are banned, nor, from this member, of another's.
    for replica in bans.keys where replica != id {
      heads[replica] = VersionVector.maximumSequence
    }
    for replica in notCarried.keys { heads[replica] = VersionVector.maximumSequence }
    return heads
  }

  /// The same, as if the remote had all of everybody of whom it has what there was when the pushes
  /// began.
  ///
  /// - Parameter stored: what there is now.
  func withoutNew(_ heads: VersionVector, stored now: VersionVector) -> VersionVector {
    var wanted = heads
    for (replica, sequence) in now.sequences
    where sequence > heads[replica] && heads[replica] >= stored[replica] {
      wanted[replica] = VersionVector.maximumSequence
    }
    return wanted
  }

  /// Why this replica has more of a banned one than others of the remote have, if it does.
  func firstBeyondBan(in store: any ReplicaStore) throws -> RemoteError? {
    if bans.isEmpty { return nil }
    let (id, stored) = (try store.replicaID(), try store.storedVersionVector())
    let beyond = bans.filter { $0.key != id && stored[$0.key] > $0.value }
    guard let (replica, last) = beyond.min(by: { $0.key < $1.key }) else { return nil }
    return RemoteError(
      .authorBanned,
      "the remote's operator banned replica \(replica) after its operation \(last), and this device "
        + "has it up to \(stored[replica]); it loads the remote's next snapshot, and puts what that "
        + "lacks into the inbox", replica: replica, sequence: last + 1)
  }
}
