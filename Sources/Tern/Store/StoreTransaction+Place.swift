import TernCore
import TernDatabase

/// Where this replica stands at a remote, as stored.
struct StoredPlace {
  /// What was written here without anything before the cursor, until it is known to be at the
  /// remote, is up to this own sequence.
  var sealed: UInt64
  /// Own operations up to ``sealed`` were written with everything before this.
  var basis: Cursor?
  var place: RemotePlace

  /// After the cursor was forgotten, until the remote is known to lack nothing.
  static let unsettled = UInt64(Int64.max)

  /// Everything before it was there when own operations behind the accepted ones were written.
  func basis(accepted: UInt64) -> Cursor? { accepted >= sealed ? place.cursor : basis }
}

extension StoreTransaction {
  func place(at remoteID: String) throws -> RemotePlace? {
    try storedPlace(at: remoteID)?.place
  }

  func storedPlace(at remoteID: String) throws -> StoredPlace? {
    let select = try statement(
      "SELECT epoch, cursor, basis, sealed FROM \(tables.remote) WHERE id = ?")
    select.bind(1, copy: .string(remoteID))
    defer { select.reset() }
    guard try select.step() else { return nil }
    func cursor(_ column: Int32) -> Cursor? {
      select.value(column).value?.string.map(Cursor.init(rawValue:))
    }
    return StoredPlace(
      sealed: select.raw(3), basis: cursor(2),
      place: RemotePlace(
        remoteID: remoteID, epoch: select.value(0).value?.string ?? "", cursor: cursor(1)))
  }

  /// Moves a remote's cursor, or forgets it. What is sealed by now was written without what came.
  func save(_ place: RemotePlace) throws {
    let old = try storedPlace(at: place.remoteID)
    if old?.place == place { return }
    let basis = try old?.basis(accepted: accepted(by: place.remoteID))
    let isUnsettled = place.cursor == nil || old?.sealed == StoredPlace.unsettled
    try save(
      StoredPlace(
        sealed: isUnsettled ? StoredPlace.unsettled : author(0).stored,
        basis: isUnsettled ? nil : basis, place: place))
  }

  /// Moves a remote's cursor to where a snapshot has it.
  ///
  /// - Parameter kept: own operations behind it were issued anew, with all that the snapshot has.
  func save(_ place: RemotePlace, reissuedAfter kept: UInt64?) throws {
    guard let kept else { return try save(place) }
    try saveAccepted(kept, by: place.remoteID)
    try save(StoredPlace(sealed: kept, basis: place.cursor, place: place))
  }

  /// Up to which own operation somebody may have it as it is.
  ///
  /// - Throws: ``SnapshotError`` where that is another remote, and this one lacks it.
  func lastKept(accepted: UInt64, at remoteID: String?) throws -> UInt64 {
    let remoteID = remoteID ?? ""
    let kept = try max(accepted, self.accepted(by: remoteID))
    let offered = try lastFixed(at: remoteID)
    guard offered <= kept else {
      throw SnapshotError(
        .offeredElsewhere,
        "operations \(kept + 1) to \(offered) of this replica were given to another remote, and "
          + "this one is too far ahead to take them as they are; sync with the other alone")
    }
    return kept
  }

  func save(_ stored: StoredPlace) throws {
    let statement = try statement(
      """
      REPLACE INTO \(tables.remote) (id, epoch, cursor, basis, sealed) VALUES (?, ?, ?, ?, ?)
      """)
    statement.bind(1, copy: .string(stored.place.remoteID))
    statement.bind(2, copy: .string(stored.place.epoch))
    statement.bind(3, copy: stored.place.cursor.map { .string($0.rawValue) } ?? .null)
    statement.bind(4, copy: stored.basis.map { .string($0.rawValue) } ?? .null)
    statement.bind(5, raw: stored.sealed)
    try statement.run()
  }

  /// Whether this replica never had another remote: what that brings may be written without
  /// anything of this one.
  func isSole(_ remoteID: String) throws -> Bool {
    let select = try statement(
      """
      SELECT 1 FROM (SELECT id FROM \(tables.remote)
        UNION SELECT remote FROM \(tables.remoteHead) UNION SELECT remote FROM \(tables.offer))
      WHERE id <> ? LIMIT 1
      """)
    select.bind(1, copy: .string(remoteID))
    defer { select.reset() }
    return try !select.step()
  }

  func standing(at remoteID: String) throws -> RemoteStanding {
    guard let stored = try storedPlace(at: remoteID) else { return RemoteStanding() }
    let accepted = try accepted(by: remoteID)
    let isSole = try isSole(remoteID)
    return RemoteStanding(
      basis: stored.basis(accepted: accepted), isSole: isSole,
      isAcknowledged: isSole && stored.place.cursor != nil && accepted >= stored.sealed)
  }
}
