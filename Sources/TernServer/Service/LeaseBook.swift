#if Server
import Foundation
import Synchronization
import TernCore

/// A lease that is to be written down.
struct LeaseRenewal: Sendable {
  let replica: ReplicaID
  let space: SpaceName
  let lease: Lease
  /// Whether the store has an older one, which holds the horizon no less far back.
  let canWait: Bool
  /// Who pulled.
  var member: MemberName?
}

/// Leases that moved on and are not written down yet, so that a pull is no disk sync.
///
/// Writing one late is safe: what the store has is an older place, and holds the horizon further
/// back. Its older time would end the lease early by up to ``lateness``, by which it is kept
/// longer. What would be unsafe late is written at once: the first lease of a replica, and one that
/// went back.
final class LeaseBook: Sendable {
  /// How far the time that is written down may be behind.
  static let lateness = Duration.seconds(24 * 3600)
  /// How many leases wait at most; with more, each is written at once.
  private static let limit = 100_000

  private let waiting = Mutex<(count: Int, spaces: [SpaceName: [ReplicaID: Lease]])>((0, [:]))

  subscript(space: SpaceName, replica: ReplicaID) -> Lease? {
    waiting.withLock { $0.spaces[space]?[replica] }
  }

  /// Returns whether there was room.
  func note(_ renewal: LeaseRenewal) -> Bool {
    waiting.withLock { waiting in
      let isNew = waiting.spaces[renewal.space]?[renewal.replica] == nil
      guard !isNew || waiting.count < Self.limit else { return false }
      if isNew { waiting.count += 1 }
      waiting.spaces[renewal.space, default: [:]][renewal.replica] = renewal.lease
      return true
    }
  }

  /// Notes that a replica has merged everything up to `position`.
  ///
  /// - Parameter written: its lease as it is written down.
  /// - Returns: what has to be written down before the replica is answered.
  func renew(
    _ replica: ReplicaID, at position: UInt64, in space: SpaceName, by member: MemberName?,
    _ written: Lease?, now: Date
  ) -> LeaseRenewal? {
    let known = [written, self[space, replica]].compactMap(\.self)
    // Back behind what may be written at any moment: the device's database was put back.
    let isForward = known.allSatisfy { position >= $0.position }
    // Not back to the time of a clock that may be behind.
    let time = known.reduce(now) { max($0, $1.renewed) }
    let renewal = LeaseRenewal(
      replica: replica, space: space, lease: Lease(position: position, renewed: time),
      canWait: written != nil && isForward, member: member)
    guard let written, isForward,
      time.milliseconds - written.renewed.milliseconds < Self.lateness.milliseconds,
      note(renewal)
    else { return renewal }
    return nil
  }

  /// Forgets those of a space that was removed.
  func forget(_ space: SpaceName) {
    waiting.withLock { waiting in
      waiting.count -= waiting.spaces.removeValue(forKey: space)?.count ?? 0
    }
  }

  /// Forgets those of spaces that another process removed. One of a space that was only just made
  /// may be among them: it comes again with the next pull.
  func keep(only spaces: Set<SpaceName>) {
    let gone = waiting.withLock { $0.spaces.keys.filter { !spaces.contains($0) } }
    for space in gone { forget(space) }
  }

  func waiting(in space: SpaceName) -> [ReplicaID: Lease] {
    waiting.withLock { $0.spaces[space] ?? [:] }
  }

  /// Leases as they moved on since they were written down. One that is not written down any more
  /// was dropped, whatever was noted.
  func newest(of written: [ReplicaID: Lease], in space: SpaceName) -> [ReplicaID: Lease] {
    let noted = waiting(in: space)
    return Dictionary(
      uniqueKeysWithValues: written.map { replica, lease in
        // Another process may have written a newer one.
        guard let later = noted[replica], later.renewed >= lease.renewed else {
          return (replica, lease)
        }
        return (replica, later)
      })
  }

  /// Forgets what was written down, but for what moved on meanwhile.
  func remove(_ written: [ReplicaID: Lease], in space: SpaceName) {
    waiting.withLock { waiting in
      for (replica, lease) in written where waiting.spaces[space]?[replica] == lease {
        waiting.spaces[space]?[replica] = nil
        waiting.count -= 1
      }
      if waiting.spaces[space]?.isEmpty == true { waiting.spaces[space] = nil }
    }
  }
}
#endif
