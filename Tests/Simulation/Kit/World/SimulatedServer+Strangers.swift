#if Server && Rehearsal
import SeededRandom
import Tern
import TernCore
import TernServer

extension SimulatedServer {
  /// The member whose tokens a device has; in every second world tokens name nobody.
  func member(_ device: Int) -> MemberName? {
    script.seed.isMultiple(of: 2) ? MemberName(stored: "member-\(device)") : nil
  }

  /// Banned from the beginning.
  static let banned = ReplicaID(high: .max, low: 1)

  /// Goes on in the name of whoever has just pushed, as a member that lies would, and in that of a
  /// banned replica, and sees both refused (INV-13).
  func writeAsStranger(after operations: [SyncOperation], to space: SpaceName) throws {
    guard let author = operations.randomElement(using: &lies)?.envelope.replica else { return }
    try write(as: Self.banned, to: space, but: .authorBanned, "a banned replica wrote")
    readAsNobody(in: space)
    let record = store.authorRecord(of: author, in: space)
    guard record?.member != nil, record?.admitted == nil else { return }
    try write(
      as: author, to: space, but: .authorClaimed, "a stranger wrote in the name of \(author)")
  }

  /// Reads under an id that is made up, without greeting under it.
  private func readAsNobody(in space: SpaceName) {
    let madeUp = ReplicaID(high: .max, low: 3)
    // What is trimmed is refused.
    _ = try? service.pull(
      from: space, after: nil, excluding: madeUp, by: MemberName(stored: "mallory"))
    guard store.lease(of: madeUp, in: space) != nil else { return }
    violation = violation ?? "INV-13: a stranger holds the horizon back under a made-up id"
  }

  /// What an operator does for devices that are gone.
  func admit(allBut living: Set<ReplicaID>) throws {
    for space in script.spaces.map(Self.name) {
      for (author, record) in store.authorRecords(of: space)
      where record.member != nil && record.admitted == nil && !living.contains(author) {
        try service.admit(author, through: VersionVector.maximumSequence, in: space)
      }
    }
  }

  private func write(
    as author: ReplicaID, to space: SpaceName, but code: RemoteError.Code, _ what: String
  ) throws {
    let summary = store.summary(of: space)
    let time = summary.newestTime.next(atMilliseconds: service.clock.nowMilliseconds)
    let forged = SyncOperation(
      SyncOperation.Envelope(
        replica: author, sequence: summary.heads[author] + 1, time: time), body: [])
    do {
      _ = try service.push([forged], to: space, by: MemberName(stored: "mallory"))
      violation = violation ?? "INV-13: \(what)"
    } catch let error as RemoteError where error.code == code {
      trace.saw(.strangerRefused)
    }
  }
}
#endif
