@_spi(Rehearsal) import TernCore

extension SyncEngine {
  func push() async throws -> SyncSession.Event {
    while true {
      if let event = try await pushOnce() { return event }
    }
  }

  /// - Returns: `nil` where the remote refused what another push may spare it.
  private func pushOnce() async throws -> SyncSession.Event? {
    try store.seal()
    let own = try store.replicaID()
    let heads = pushes.headsToConfirm(
      session.heads, epoch: session.epoch, id: own,
      acknowledged: try store.acknowledged(of: own, by: remote.id, holding: session.heads[own]))
    let wanted =
      session.hasPushedMany
      ? try pushes.withoutNew(heads, stored: store.storedVersionVector()) : heads
    let unconfirmed = session.heads.sequences.filter {
      $0.key != own && $0.value > pushes.confirmed.heads[$0.key]
    }
    let operations = try store.offer(
      lackedBy: wanted, repeating: Set(unconfirmed.keys), maximumBytes: pushes.bytes,
      to: remote.id)
    if operations.isEmpty {
      if try tellForks() { return nil }
      if try leaveTold(own) { return .didChangeID }
      return try nothingToPush(heads, hasLeftSome: wanted != heads)
    }
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
        pushes.noteConfirmed(operations.heads)
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
    if refusal == nil, !session.canRepair, let beyond = try pushes.firstBeyondBan(in: store) {
      refusal = beyond
    }
    if hasLeftSome { return .leftSome(refused: refusal, jitter: environment.jitter()) }
    let forks = try store.forks(at: remote.id)
    // An author of whom it has something else does not count.
    var counted = heads
    for fork in forks { counted[fork.replica] = VersionVector.maximumSequence }
    let lacksTrimmed = try store.hasTrimmed(lackedBy: counted)
    // It would stand for what the remote has otherwise, too.
    let isForked =
      !forks.isEmpty || pushes.notCarried.values.contains { $0.code == .sequenceConflict }
    let canHaveBase = remote.keepsSnapshots && !isForked
    if refusal == nil, lacksTrimmed, !canHaveBase { refusal = .noBase(forks.first) }
    // What another copy writes there never comes here, unless a pull ends the fork.
    let fork = forks.first { session.heads[$0.replica] >= $0.sequence }
    if refusal == nil, !session.hasMoreToPull, let fork {
      refusal = RemoteError(
        .sequenceConflict, "\(fork)", replica: fork.replica, sequence: fork.sequence)
    }
    if refusal == nil, !session.hasMoreToPull, let fork = told {
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
    // no gap is to be expected any more. Of this replica's own the newest is still compared.
    if error.code == .sequenceGap, let author = error.replica, let sequence = error.sequence,
      pushes.confirmed.heads[author] < session.heads[author], sequence <= session.heads[author]
    {
      let head = session.heads[author]
      let isNewestLeft = author == id && pushes.confirmed.heads[author] + 1 < head
      pushes.confirmed.heads[author] = isNewestLeft ? head - 1 : head
      return nil
    }
    // What others wrote can't be mended here, and must not keep back what is written here.
    let refused = error.replica ?? (operations.count == 1 ? operations[0].envelope.replica : nil)
    let ofSpace: [RemoteError.Code] = [.sequenceGap, .spaceFull, .spaceSuspended, .readOnly]
    if let refused, refused != id, operations.heads[refused] > 0, !error.isTransient,
      !ofSpace.contains(error.code)
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
    if error.code == .timeAhead, let now = error.now { try correctClock(now) }
    return .failed(error, jitter: environment.jitter())
  }
}

extension ReplicaStore {
  /// Up to which own operation a remote acknowledged them, or the log has them no more.
  ///
  /// - Parameter head: up to which the remote holds them.
  fileprivate func acknowledged(
    of id: ReplicaID, by remoteID: String, holding head: UInt64
  ) throws -> UInt64 {
    let accepted = try accepted(by: remoteID)
    // Nearly always.
    if accepted >= head { return accepted }
    var known = try storedVersionVector()
    known[id] = accepted
    return try hasTrimmed(lackedBy: known) ? head : accepted
  }
}
