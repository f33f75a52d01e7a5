import TernCore
import TernDatabase

extension SQLiteReplicaStore {
  public func standing(at remoteID: String) throws -> RemoteStanding {
    try read { try $0.standing(at: remoteID) }
  }

  public func noteNothingToPush(of sequence: UInt64, to remoteID: String) throws {
    let isKnown = try read { transaction in
      guard let stored = try transaction.storedPlace(at: remoteID) else { return true }
      let accepted = try transaction.accepted(by: remoteID)
      return accepted >= min(stored.sealed, sequence) && stored.sealed != StoredPlace.unsettled
    }
    if isKnown { return }
    try transaction { transaction in
      try transaction.saveAccepted(sequence, by: remoteID)
      guard var stored = try transaction.storedPlace(at: remoteID),
        stored.sealed == StoredPlace.unsettled
      else { return }
      (stored.sealed, stored.basis) = (sequence, stored.place.cursor)
      try transaction.save(stored)
    }
  }

  public func horizon() throws -> HybridTime { try read(\.horizon) }

  public func forgetDeleted(upTo horizon: HybridTime, at remoteID: String) throws {
    let isNews = try read { transaction in
      try transaction.horizon < horizon && !transaction.hasAside && transaction.isSole(remoteID)
    }
    guard isNews else { return }
    try transaction { transaction in
      // Something may have come in between.
      guard transaction.horizon < horizon, !transaction.hasAside else { return }
      transaction.horizon = horizon
      try transaction.saveHorizon(from: remoteID)
    }
    let isEarly = Planted.isActive(.tombstoneForgotten)
    var trim = TombstoneTrim(isEarly ? .latest : horizon, sql)
    while try transaction({ try trim.step($0) }) { try CrashPoint.reach(.forgetBetween) }
  }
}

extension HybridTime {
  /// After every time that an operation carries.
  fileprivate static let latest = HybridTime(rawValue: UInt64(Int64.max))
}

extension StoreTransaction {
  /// Of the next row of a key that is unknown here.
  var firstLife: UInt32 { lifeFloor + 1 }

  /// - Parameter remoteID: which remote said so; `nil` leaves what is known.
  func saveHorizon(from remoteID: String? = nil) throws {
    let update = try statement(
      """
      UPDATE \(tables.replica)
      SET horizon = ?, life_floor = ?, horizon_remote = ifnull(?, horizon_remote)
      """)
    update.bind(1, raw: horizon.rawValue)
    update.bind(2, Int64(lifeFloor))
    update.bind(3, copy: remoteID.map { .string($0) } ?? .null)
    try update.run()
  }
}
