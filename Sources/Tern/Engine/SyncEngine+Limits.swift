import TernCore
import TernDatabase

/// What one sync takes from a remote that gives nothing new: a faulty or hostile one must not keep
/// the device busy without end, and an honest one never comes near these limits.
struct FruitlessAnswers {
  enum Limit {
    /// Besides one for so many operations of this replica's own, which an honest remote leaves out
    /// of its pages.
    static let emptyPages = 1000
    static let ownPerPage: UInt64 = 100
    /// Besides all that is stored here, each of which an honest remote may give once.
    static let repeated: UInt64 = 1000
    static let stored: UInt64 = 10_000_000
    /// Syncs in a row for positions that brought nothing, before the next waits.
    static let positions = 8
    /// The most looks for other processes' writes that it waits for.
    static let looks = 8
    /// What stays free on the disk.
    static let freeBytes = 32 << 20
  }

  /// Since the sync began.
  private(set) var emptyPages = 0
  private(set) var repeated: UInt64 = 0
  /// Syncs in a row.
  private(set) var positions = 0
  /// What had been merged when a position asked for the sync that goes on.
  private var mergedBefore: Int?

  /// A sync ends: the next has all of it again.
  mutating func begin() {
    (emptyPages, repeated) = (0, 0)
  }

  /// - Returns: whether it is more than an honest remote gives.
  mutating func note(
    _ page: PulledPage, merged: Int, own: UInt64, stored: () throws -> UInt64
  ) rethrows -> Bool {
    if page.operations.isEmpty { emptyPages += 1 }
    repeated += UInt64(max(page.operations.count - merged, 0))
    if !page.hasMore { return false }
    if emptyPages > Limit.emptyPages + Int(own / Limit.ownPerPage) { return true }
    return try repeated > Limit.repeated
      && repeated > Limit.repeated + min(stored(), Limit.stored)
  }

  mutating func noteAsked(merged: Int) {
    mergedBefore = merged
  }

  /// - Returns: how many looks the next position waits for, where one asked for this sync.
  mutating func noteAnswered(merged: Int) -> Int? {
    guard let before = mergedBefore else { return nil }
    mergedBefore = nil
    positions = merged > before ? 0 : positions + 1
    let over = positions - Limit.positions
    return over < 0 ? 0 : min(1 << min(over, 10), Limit.looks)
  }
}

extension SyncEngine {
  /// - Throws: ``RemoteError`` where the remote gives pages without end, and nothing new.
  func checkFruit(of page: PulledPage, merged: Int) throws {
    let isOver = try fruitless.note(page, merged: merged, own: store.ownHead().sequence) {
      try store.storedVersionVector().sequences.values.reduce(0, &+)
    }
    guard isOver else { return }
    throw RemoteError(
      .unexpectedAnswer,
      "\(remote.id) gave \(fruitless.emptyPages) empty pages and \(fruitless.repeated) operations that "
        + "are here already, and says that there is more; what came is kept, and the sync goes on after "
        + "a wait: have whoever runs it look at it")
  }
}

extension SyncEnvironment {
  /// - Throws: ``RemoteError`` where the database's disk has no room for what comes, and for what
  ///   SQLite writes beside it.
  func checkRoom(for byteCount: Int, from remoteID: String) throws {
    guard let path = databasePath, let free = freeBytes(path) else { return }
    let least = FruitlessAnswers.Limit.freeBytes + 4 * byteCount
    guard free < least else { return }
    throw RemoteError(
      .local,
      "the disk of \(path) has \(free >> 20) MiB left, and \(remoteID) has more to give: free "
        + "\(least >> 20) MiB or more; what came is kept, and the next sync goes on from there")
  }
}
