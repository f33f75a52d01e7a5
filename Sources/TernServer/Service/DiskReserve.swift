#if Server
import TernCore

/// The disk on which a store is, and what of it is kept free.
struct DiskReserve {
  let disk: ServerDisk
  let access: SpaceAccess
  /// Spaces that lost what was kept for ``SpaceService/restore(_:overQuota:)``.
  let givenUp: SpaceNames

  private var limits: ServerLimits { access.limits }
  /// What of it is always left, for the log of what removes.
  private var logReserve: Int { limits.diskReserveBytes / 4 }

  /// Why nothing new is stored at the moment; `nil` while there is room.
  ///
  /// Pages of the file that nothing uses are room too: what was removed leaves them.
  func shortage(adding bytes: Int = 0) throws -> String? {
    guard let free = disk.freeBytes else { return nil }
    let reserve = limits.diskReserveBytes
    if free >= reserve, bytes <= free - reserve { return nil }
    let reusable = try access.store.reusableBytes()
    let hasLogRoom = free >= logReserve && bytes <= free - logReserve
    if hasLogRoom, bytes <= free + reusable - reserve { return nil }
    return "diskReserveBytes: the disk has \(free) bytes free, and \(reserve) are kept free"
  }

  /// - Throws: ``RemoteError`` with `unavailable`, without a time: a device then goes on pulling.
  func check(adding bytes: Int = 0) throws {
    // A few short transactions: what is left to remove goes with the next requests.
    for _ in 0..<4 {
      guard try shortage(adding: bytes) != nil, (try? giveUpKept()) != nil else { break }
    }
    guard let shortage = try shortage(adding: bytes) else { return }
    throw RemoteError(.unavailable, "\(shortage); pull meanwhile, and push again later")
  }

  /// Removes some of what the space keeps that keeps most, in one short transaction, because the
  /// disk has no room for it. Returns that space; `nil` where nothing is kept.
  func giveUpKept() throws -> SpaceName? {
    let store = access.store
    guard let space = try store.spaceKeepingMost() else { return nil }
    let before = try store.usage(of: space).keptBytes
    try access.look(at: space) {
      try $0.ensureIsThere()
      guard $0.rows.standing.phase.isServed else { return }
      try $0.upkeep.giveUpKept()
    }
    givenUp.note(space)
    // In a damaged file there may be nothing behind the number.
    guard try store.usage(of: space).keptBytes < before else { return nil }
    return space
  }
}
#endif
