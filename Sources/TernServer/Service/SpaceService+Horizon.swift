#if Server
import TernCore

// The horizon moves in steps. A step names the time of the newest operation and the position of the
// space; it is reached when every replica with a lease has acknowledged that position. From then on
// nobody writes without what was there at that time, and who has everything pushed until that
// moment can forget what was deleted by then. Who comes without it, because its lease ran out, is
// refused before anything of it is stored, and begins again with a snapshot (INV-12).

extension SpaceService {
  /// Comes to the step that is waited for, if all have, and begins the next one.
  func moveHorizon(_ alive: [Lease], _ transaction: any SpaceTransaction) throws {
    var horizon = try transaction.horizon
    if let next = horizon.next {
      // With nobody there it would only be in the way of who comes back.
      guard let known = alive.map(\.acknowledged).min() else { return }
      // Who is told to begin with the newest snapshot has to be beyond the floor with it.
      let snapshot = try transaction.snapshots().last(where: \.isComplete)?.position ?? 0
      guard known >= next.floor, snapshot >= next.floor else { return }
      if next.time > horizon.reached.time { horizon.reached = next }
      horizon.next = nil
    }
    if transaction.position > horizon.reached.floor {
      let latest = try transaction.heads().values.map(\.time).max() ?? .zero
      horizon.next = .init(time: latest, floor: transaction.position)
    }
    try transaction.set(horizon)
  }

  /// Takes new operations in, before the store does.
  ///
  /// - Throws: ``RemoteError`` with `snapshot-needed` where they may have been written without
  ///   something that others have forgotten.
  func admit(
    _ admitted: [NewOperation], on basis: PushBasis?, in space: SpaceName,
    _ transaction: any SpaceTransaction
  ) throws {
    var horizon = try transaction.horizon
    if horizon.reached.floor > 0, let first = admitted.first, !Planted.isActive(.horizonIgnored) {
      try check(basis, horizon.reached.floor, first.key, in: space, transaction)
    }
    // Not all operations of that time are before the floor any more.
    guard let next = horizon.next,
      let earliest = admitted.map(\.operation.envelope.time).min(), earliest <= next.time
    else { return }
    horizon.next?.time = HybridTime(rawValue: earliest.rawValue - 1)
    try transaction.set(horizon)
  }

  private func check(
    _ basis: PushBasis?, _ floor: UInt64, _ first: OperationKey, in space: SpaceName,
    _ transaction: any SpaceTransaction
  ) throws {
    guard let basis else {
      throw refusal(first, "nobody knows what its author had, and this space has a horizon")
    }
    var known: UInt64 = 0
    if let cursor = basis.cursor, let place = SpaceCursor(cursor),
      place
        == SpaceCursor(
          epoch: store.epoch, position: place.position,
          chain: try transaction.chain(at: place.position))
    {
      known = place.position
    } else {
      // The space was restored, or the replica has begun at its beginning again.
      known = max(
        leases[space, basis.replica]?.acknowledged ?? 0,
        try transaction.leases()[basis.replica]?.acknowledged ?? 0)
    }
    guard known >= floor else {
      throw refusal(
        first,
        "it was written without operations up to \(floor), of which others forgot what they "
          + "deleted; load the snapshot that the greeting names and issue it again")
    }
  }

  private func refusal(_ key: OperationKey, _ why: String) -> RemoteError {
    RemoteError(
      .snapshotNeeded, "operation \(key.sequence) of replica \(key.author) was refused: \(why)",
      replica: key.author, sequence: key.sequence, nowMilliseconds: clock.nowMilliseconds)
  }
}
#endif
