@_spi(Rehearsal) import TernCore

/// Two copies of one database have one replica id. The first to push goes on under it; the other
/// finds the remote with operations in its name that it never made, and takes a new id.
extension SyncEngine {
  /// - Parameters:
  ///   - heads: what the remote holds.
  ///   - conflict: an own operation in whose place the remote has another.
  /// - Returns: whether there is a new id. If not, nothing has changed.
  func changeID(_ greeting: RemoteGreeting, conflict: UInt64?) async throws -> Bool {
    let id = try store.replicaID()
    // A remote that lost what it had may have given it to others before.
    guard idChanges < 3, try store.place(at: remote.id)?.epoch ?? greeting.epoch == greeting.epoch,
      let last = try await lastShared(greeting.heads[id], of: id), last < conflict ?? .max,
      let change = try store.changeID(from: id, after: last, at: remote.id)
    else { return false }
    note(change)
    return true
  }

  /// What a remote was known to have before it greets.
  struct Standing {
    let id: ReplicaID
    let epoch: String?
    let accepted: UInt64
  }

  /// Before the greeting: another engine, or another process, may push in the meantime.
  func standing() throws -> Standing {
    try Standing(
      id: store.replicaID(), epoch: store.place(at: remote.id)?.epoch,
      accepted: store.accepted(by: remote.id))
  }

  /// Takes a new id where the remote has lost what it had of this replica. Other devices have that
  /// still, and it may be more than is here: if this file is a backup, what it writes from now on
  /// would come under numbers that are taken, and nobody would refuse it.
  func leaveID(_ greeting: RemoteGreeting, _ known: Standing) throws {
    let place = RemotePlace(remoteID: remote.id, epoch: greeting.epoch, cursor: nil)
    // A backup of today has to know it, too.
    if known.epoch == nil { try store.resetPlace(place) }
    if losses >= 3 || Planted.isActive(.lossKeepsID) { return }
    // The files of a folder come and go, and each device that reads it tells of another copy's.
    let hasLost = remote.keepsSnapshots && greeting.heads[known.id] < known.accepted
    guard known.epoch ?? greeting.epoch != greeting.epoch || hasLost,
      let change = try store.leaveID(known.id, for: place, heads: greeting.heads, isTold: false)
    else { return }
    losses += 1
    note(change)
  }

  /// Takes a new id where another remote has what this one does not take: that stays as it is, and
  /// what is written from now on is given here too.
  ///
  /// - Returns: whether there is one. If not, nothing has changed.
  func leaveRefused(_ id: ReplicaID) throws -> Bool {
    // A server's word is better kept than a folder's, to which anybody can write.
    if remote.keepsSnapshots || losses >= 3 { return false }
    let place = RemotePlace(remoteID: remote.id, epoch: session.epoch, cursor: nil)
    guard let change = try store.leaveID(id, for: place, heads: session.heads, isTold: false)
    else { return false }
    losses += 1
    note(change)
    return true
  }

  /// Tells the others of forks. Three times at most in an engine's life: a remote that shows now
  /// this and now that would have this replica write for ever. A replica that never wrote may have
  /// no right to.
  func tellForks() throws -> Bool {
    guard forksTold < 3, try hasWritten || store.ownHead().sequence > 0, try store.tellForks()
    else { return false }
    forksTold += 1
    return true
  }

  /// Takes a new id where another device tells that a copy wrote under the one that this replica
  /// has: under the new one that device takes again what is written from now on.
  ///
  /// Anybody can tell anything, so this alone is never an error: ``SyncStatus`` names the fork.
  ///
  /// - Returns: whether there is one. If not, nothing has changed.
  func leaveTold(_ id: ReplicaID) throws -> Bool {
    guard losses < 3, let fork = try store.forks(at: nil).first else { return false }
    let place = RemotePlace(remoteID: remote.id, epoch: session.epoch, cursor: nil)
    let heads = session.heads
    guard let change = try store.leaveID(id, for: place, heads: heads, isTold: true) else {
      return false
    }
    losses += 1
    told = fork
    note(change)
    return true
  }

  private func note(_ change: ReplicaIDChange) {
    idChanges += 1
    hasWritten = hasWritten || change.last > 0
    // Perhaps for what it has in the former id's name.
    unloadable = nil
    status.update { $0.idChange = change }
    environment.didMerge()
  }

  /// The last own operation that the remote has just so. Those that it may have are pushed again,
  /// and taken only where they are the same.
  ///
  /// - Returns: `nil` where the remote can't say.
  private func lastShared(_ head: UInt64, of id: ReplicaID) async throws -> UInt64? {
    var last = try store.accepted(by: remote.id)
    var bytes = environment.pushBytes
    while true {
      var known = try store.storedVersionVector()
      known[id] = last
      let operations = try store.operations(lackedBy: known, maximumBytes: bytes)
        .filter { $0.envelope.replica == id && $0.envelope.sequence <= head }
      guard let next = operations.last else { return last }
      do {
        _ = try await remote.push(operations)
        last = next.envelope.sequence
      } catch let error as RemoteError where error.code == .tooLarge && operations.count > 1 {
        bytes = max(min(bytes, operations.byteCount) / 2, 1)
      } catch let error as RemoteError where error.replica == id && !error.isTransient {
        guard error.code == .sequenceConflict, let sequence = error.sequence,
          operations.contains(where: { $0.envelope.sequence == sequence })
        else { return nil }
        return sequence - 1
      }
    }
  }
}
