#if Server
import Foundation
@_spi(Rehearsal) import TernCore

/// Decides which operations of a push are new, which are repeats, and what refuses it.
///
/// Pure: the store's rows come in, the rows to add come out. The caller offers operations in their
/// order and adds ``admitted`` only when none was refused.
struct Admission {
  /// How far ahead of the server's clock an operation's time can be.
  static let toleranceMilliseconds: Int64 = 5 * 60 * 1000

  /// The latest time that is taken: five minutes ahead of the clock, or, where the space has later
  /// ones, a millisecond ahead of those.
  ///
  /// Those were taken while the clock was ahead. Who has merged them can write nothing but what is
  /// later still, each by 1/65536 ms. Nobody else's clock begins this, as what is over the five
  /// minutes is refused before.
  ///
  /// - Parameter newest: the greatest time in the space.
  static func limitMilliseconds(now: Date, newest: HybridTime) -> Int64 {
    let limit = now.milliseconds + toleranceMilliseconds
    return newest.milliseconds > limit ? newest.milliseconds + 1 : limit
  }

  /// The server's clock.
  let now: Date
  /// Milliseconds since 1970, see ``limitMilliseconds(now:newest:)``.
  private let limit: Int64
  /// The newest operation of every author in the push, with what was admitted so far.
  private(set) var heads: [ReplicaID: AuthorHead]
  /// What is to be added, in its order.
  private(set) var admitted: [NewOperation] = []
  private var digests: [OperationKey: OperationDigest]
  /// Who pushes.
  private let member: MemberName?
  private var records: [ReplicaID: AuthorRecord]
  /// The records that the push changes.
  private(set) var noted: [ReplicaID: AuthorRecord] = [:]

  /// - Parameters:
  ///   - digests: those of every offered operation that the space has already.
  ///   - records: those of the push's authors.
  ///   - member: who pushes; `nil` for somebody whose token names nobody.
  init(
    heads: [ReplicaID: AuthorHead], digests: [OperationKey: OperationDigest],
    records: [ReplicaID: AuthorRecord] = [:], by member: MemberName? = nil, now: Date,
    limit: Int64
  ) {
    self.limit = limit
    self.heads = heads
    self.digests = digests
    self.records = records
    self.member = member
    self.now = now
  }

  mutating func offer(_ new: NewOperation) throws(RemoteError) {
    let envelope = new.operation.envelope
    let head = heads[envelope.replica]
    let next = (head?.sequence ?? 0) + 1
    if envelope.sequence < next { return try checkRepeat(new) }
    try checkAuthor(envelope)
    guard envelope.sequence == next else {
      throw refusal(
        .sequenceGap, envelope,
        "operation \(envelope.sequence) of replica \(envelope.replica) came where \(next) is "
          + "expected; ask for the heads and push from there")
    }
    try checkTime(envelope, after: head)
    heads[envelope.replica] = AuthorHead(envelope)
    digests[new.key] = new.digest
    admitted.append(new)
    note(envelope)
  }

  /// INV-13: what is new in a claimed author's name comes from the member that claimed it, and
  /// nothing that follows a ban is taken.
  private func checkAuthor(_ envelope: SyncOperation.Envelope) throws(RemoteError) {
    guard !envelope.replica.isReserved else {
      throw refusal(.malformed, envelope, "no device has the replica id \(envelope.replica)")
    }
    guard let record = records[envelope.replica] else { return }
    let (replica, sequence) = (envelope.replica, envelope.sequence)
    if let last = record.bannedAfter, sequence > last, !Planted.isActive(.banForgotten) {
      throw refusal(
        .authorBanned, envelope,
        "the space takes no operation of replica \(replica) after \(last): its operator banned it")
    }
    guard !record.isOpen(to: member), sequence > record.admitted ?? 0,
      !Planted.isActive(.strangerWrites)
    else { return }
    throw refusal(
      .authorClaimed, envelope,
      "operation \(sequence) is new, and replica \(replica) belongs to another member of the "
        + "space; only that member can bring it, or its operator admits it")
  }

  /// Who brought it, where that is not its owner.
  private mutating func note(_ envelope: SyncOperation.Envelope) {
    let known = records[envelope.replica] ?? AuthorRecord()
    var record = known
    record.noteBrought(envelope.sequence...envelope.sequence, by: Bringer(member))
    guard record != known else { return }
    records[envelope.replica] = record
    noted[envelope.replica] = record
  }

  private func checkRepeat(_ new: NewOperation) throws(RemoteError) {
    guard let digest = digests[new.key] else {
      // A snapshot stands for it, so nobody can say whether it is the same one.
      throw refusal(
        .sequenceGap, new.operation.envelope,
        "operation \(new.key.sequence) of replica \(new.key.author) is in the space's snapshot; "
          + "ask for the heads and push from there")
    }
    guard digest == new.digest else {
      throw refusal(
        .sequenceConflict, new.operation.envelope,
        "the space has another operation \(new.key.sequence) of replica \(new.key.author): the "
          + "database is a copy of another, and needs a replica id of its own")
    }
  }

  /// INV-11: the times of accepted operations strictly increase per replica; the fragments of
  /// one group share theirs.
  private func checkTime(_ envelope: SyncOperation.Envelope, after head: AuthorHead?)
    throws(RemoteError)
  {
    guard envelope.time.milliseconds <= limit else {
      throw refusal(
        .timeAhead, envelope,
        "the time of operation \(envelope.sequence) of replica \(envelope.replica) is more than "
          + "five minutes ahead of the server's clock; set the clock and stamp it again")
    }
    guard let head else { return }
    guard head.continues ? envelope.time == head.time : envelope.time > head.time else {
      throw refusal(
        .timeNotIncreasing, envelope,
        "the time of operation \(envelope.sequence) of replica \(envelope.replica) is not after "
          + "that of the operation before it; stamp it again")
    }
  }

  private func refusal(
    _ code: RemoteError.Code, _ envelope: SyncOperation.Envelope, _ message: String
  ) -> RemoteError {
    RemoteError(
      code, message, replica: envelope.replica, sequence: envelope.sequence, now: now)
  }
}
#endif
