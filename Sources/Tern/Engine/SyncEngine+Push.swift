@_spi(Rehearsal) import TernCore

extension SyncEngine {
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
  }

  func push() async throws -> SyncSession.Event {
    while true {
      if let event = try await pushOnce() { return event }
    }
  }

  /// - Returns: `nil` where the remote refused what another push may spare it.
  private func pushOnce() async throws -> SyncSession.Event? {
    try store.seal()
    var heads = try headsToConfirm()
    for replica in pushes.notCarried.keys { heads[replica] = VersionVector.maximumSequence }
    let wanted = session.hasPushedMany ? try withoutNew(heads) : heads
    let own = try store.replicaID()
    let unconfirmed = session.heads.sequences.filter {
      $0.key != own && $0.value > pushes.confirmed.heads[$0.key]
    }
    let operations = try store.offer(
      lackedBy: wanted, repeating: Set(unconfirmed.keys), maximumBytes: pushes.bytes,
      to: remote.id)
    if operations.isEmpty { return try nothingToPush(heads, hasLeftSome: wanted != heads) }
    if session.pushesInARow == 0 { pushes.stored = try store.storedVersionVector() }
    try report(.syncing)
    let id = try store.replicaID()
    try CrashPoint.reach(.pushBeforeSend)
    do {
      let receipt = try await remote.push(operations)
      try CrashPoint.reach(.pushAfterSend)
      // Another engine may have changed it, and the numbers with it.
      if try store.replicaID() == id {
        try store.noteAccepted(of: operations.heads[id], by: remote.id)
        noteConfirmed(operations.heads)
      }
      status.update {
        $0.pushed += min(max(receipt.accepted, 0), operations.count)
        $0.lastError = session.refusal?.error
      }
      let most = environment.pushBytes
      pushes.bytes = pushes.bytes > most / 2 ? most : pushes.bytes * 2
      return .pushed(operations.heads, receipt)
    } catch let error as RemoteError {
      return try await refused(operations, of: id, error)
    }
  }

  private func nothingToPush(
    _ heads: VersionVector, hasLeftSome: Bool
  ) throws -> SyncSession.Event {
    var refusal = pushes.notCarried.min(by: { $0.key < $1.key })?.value
    // A snapshot of the remote's mends it.
    if refusal == nil, !session.canRepair, let beyond = try firstBeyondBan() { refusal = beyond }
    if hasLeftSome { return .leftSome(refused: refusal, jitter: environment.jitter()) }
    let forks = try store.forks(at: remote.id)
    let lacksTrimmed = try self.lacksTrimmed(heads, besides: forks)
    // It would stand for what the remote has otherwise, too.
    let isForked =
      !forks.isEmpty || pushes.notCarried.values.contains { $0.code == .sequenceConflict }
    let canHaveBase = remote.keepsSnapshots && !isForked
    if refusal == nil, lacksTrimmed, !canHaveBase { refusal = Self.noBase(forks.first) }
    // What another copy writes there never comes here, unless a pull ends the fork.
    let fork = forks.first { session.heads[$0.replica] >= $0.sequence }
    if refusal == nil, !session.hasMoreToPull, let fork {
      refusal = RemoteError(
        .sequenceConflict, "\(fork)", replica: fork.replica, sequence: fork.sequence)
    }
    guard let refusal else {
      return .hadNothingToPush(
        needsBase: lacksTrimmed, jitter: lacksTrimmed ? environment.jitter() : 0)
    }
    return .hadNothingButRefused(
      refusal, needsBase: lacksTrimmed && canHaveBase, jitter: environment.jitter())
  }

  /// Why this replica has more of a banned one than others of the remote have, if it does.
  func firstBeyondBan() throws -> RemoteError? {
    if pushes.bans.isEmpty { return nil }
    let (id, stored) = (try store.replicaID(), try store.storedVersionVector())
    let beyond = pushes.bans.filter { $0.key != id && stored[$0.key] > $0.value }
    guard let (replica, last) = beyond.min(by: { $0.key < $1.key }) else { return nil }
    return RemoteError(
      .authorBanned,
      "the remote's operator banned replica \(replica) after its operation \(last), and this device "
        + "has it up to \(stored[replica]); it loads the remote's next snapshot, and puts what that "
        + "lacks into the inbox", replica: replica, sequence: last + 1)
  }

  /// Whether the remote lacks what the log no longer has, and an author of whom it has something
  /// else, who does not count.
  private func lacksTrimmed(
    _ heads: VersionVector, besides forks: [ReplicaFork]
  ) throws -> Bool {
    var heads = heads
    for fork in forks { heads[fork.replica] = VersionVector.maximumSequence }
    return try store.hasTrimmed(lackedBy: heads)
  }

  private static func noBase(_ fork: ReplicaFork?) -> RemoteError {
    let lack = "the remote lacks operations that this device's log no longer has"
    if let fork {
      return RemoteError(
        .sequenceConflict,
        "\(lack), and can't be given a snapshot, since \(fork); or begin another space",
        replica: fork.replica, sequence: fork.sequence)
    }
    return RemoteError(
      .snapshotsUnsupported,
      "\(lack), and keeps no snapshots; a device that has them can bring them, otherwise begin "
        + "another space")
  }

  /// - Returns: `nil` to push again.
  private func refused(
    _ operations: [SyncOperation], of id: ReplicaID, _ error: RemoteError
  ) async throws -> SyncSession.Event? {
    if error.code == .tooLarge, operations.count > 1 {
      // Of what it was, which may be far less than it could have been.
      pushes.bytes = max(min(pushes.bytes, operations.byteCount) / 2, 1)
      return nil
    }
    // Of what a base stands for, the remote has no operation to compare with. Once that is known,
    // no gap is to be expected any more.
    if error.code == .sequenceGap, let author = error.replica, let sequence = error.sequence,
      pushes.confirmed.heads[author] < session.heads[author], sequence <= session.heads[author]
    {
      pushes.confirmed.heads[author] = session.heads[author]
      return nil
    }
    // What others wrote can't be mended here, and must not keep back what is written here.
    let refused = error.replica ?? (operations.count == 1 ? operations[0].envelope.replica : nil)
    if let refused, refused != id, operations.heads[refused] > 0,
      !error.isTransient, ![.sequenceGap, .spaceFull].contains(error.code)
    {
      let error = RemoteError(
        error.code, error.message, replica: refused, sequence: error.sequence)
      pushes.notCarried[refused] = error
      // Ids that somebody made up by the thousand are not offered one by one.
      if error.code == .tooManyReplicas, pushes.notCarried.count >= 32 {
        for author in operations.heads.sequences.keys where author != id {
          if session.heads[author] == 0 { pushes.notCarried[author] = error }
        }
      }
      return nil
    }
    // Another copy of this database goes on under the id, or another member claimed it.
    if error.code == .sequenceConflict || error.code == .authorClaimed, refused == id {
      let greeting = try await remote.greet(as: id)
      let isChanged = try await changeID(
        greeting, conflict: error.code == .sequenceConflict ? error.sequence : nil)
      if try isChanged || leaveRefused(id) { return .didChangeID }
    }
    // Where it was set since the greeting, what is written from here on goes by it too.
    if error.code == .timeAhead, let now = error.nowMilliseconds { try correctClock(now) }
    return .failed(error, jitter: environment.jitter())
  }

  /// From the remote, or to it.
  func noteConfirmed(_ heads: VersionVector) {
    for (author, sequence) in heads.sequences {
      pushes.confirmed.heads[author] = max(pushes.confirmed.heads[author], sequence)
    }
  }

  /// What the remote holds, less its newest operation of this replica where that may be someone
  /// else's: a copy of this database has the same id and counts on, and so can a peer that lies. It
  /// is pushed again, and acknowledged only if it is the same. Of others that is done where there
  /// is more to push of them: two copies of one database may have met this device by two remotes.
  private func headsToConfirm() throws -> VersionVector {
    var heads = session.heads
    let id = try store.replicaID()
    if pushes.confirmed.epoch != session.epoch || pushes.confirmed.id != id {
      pushes.confirmed = (session.epoch, id, VersionVector())
    }
    if heads[id] > pushes.confirmed.heads[id] { heads[id] -= 1 }
    // The remote takes nothing more of them.
    for replica in pushes.bans.keys where replica != id {
      heads[replica] = VersionVector.maximumSequence
    }
    return heads
  }

  /// The same, as if the remote had all of everybody of whom it has what there was when the pushes
  /// began.
  private func withoutNew(_ heads: VersionVector) throws -> VersionVector {
    var wanted = heads
    for (replica, sequence) in try store.storedVersionVector().sequences
    where sequence > heads[replica] && heads[replica] >= pushes.stored[replica] {
      wanted[replica] = VersionVector.maximumSequence
    }
    return wanted
  }
}
