import TernCore

/// A replica of whom a remote holds other operations than this database does, from one number on:
/// two copies of its database wrote on under one id.
///
/// What was here first stays. Of that replica nothing more is taken from that remote, and nothing
/// goes there; everything else is synced with it, and then ``SyncEngine/syncOnce()`` throws
/// ``RemoteError/Code/sequenceConflict``.
public struct ReplicaFork: Hashable, Sendable, Codable {
  /// ``Remote/id``.
  public var remote: String
  public var replica: ReplicaID
  /// The first number under which both have an operation, and not the same.
  public var sequence: UInt64

  package init(remote: String, replica: ReplicaID, sequence: UInt64) {
    self.remote = remote
    self.replica = replica
    self.sequence = sequence
  }
}

extension ReplicaFork: CustomStringConvertible {
  public var description: String {
    "\(remote) has another operation \(sequence) of replica \(replica), whose database was copied, "
      + "and nothing more of it comes from there; an empty database that syncs there gets it all"
  }
}
