import TernCore

/// A replica of whom a remote holds other operations than this database does, from one number on:
/// two copies of its database wrote on under one id.
///
/// What was here first stays. Of that replica nothing more is taken from that remote, and nothing
/// goes there; everything else is synced with it, and then ``SyncEngine/syncOnce()`` throws
/// ``RemoteError/Code/sequenceConflict``. The device also tells all others, and those whose id it
/// is name the fork too: see ``witness``.
public struct ReplicaFork: Hashable, Sendable, Codable {
  /// ``Remote/id``; where there is a ``witness``, its name.
  public var remote: String
  public var replica: ReplicaID
  /// The first number under which both have an operation, and not the same.
  public var sequence: UInt64
  /// The replica that met two operations under an id of this device, and told of them; `nil` where
  /// this device has met them itself. Once it tells no more, or ``remote`` is given to
  /// ``Replica/forget(remoteID:)``, this is over.
  public var witness: ReplicaID?

  package init(remote: String, replica: ReplicaID, sequence: UInt64) {
    self.remote = remote
    self.replica = replica
    self.sequence = sequence
  }

  package init(toldBy witness: ReplicaID, replica: ReplicaID, sequence: UInt64) {
    self.init(remote: "\(Self.prefix)\(witness)", replica: replica, sequence: sequence)
    self.witness = witness
  }

  private static let prefix = "replica "

  /// Of whose name ``remote`` is; `nil` where that is a remote's.
  static func witness(in remote: String) -> ReplicaID? {
    remote.hasPrefix(prefix) ? ReplicaID(String(remote.dropFirst(prefix.count))) : nil
  }
}

extension ReplicaFork: CustomStringConvertible {
  public var description: String {
    if let witness {
      return "replica \(witness) has another operation \(sequence) of replica \(replica), an id of "
        + "this device: its database was copied or restored, and both copies wrote on under it; "
        + "what this one wrote under that id from there on may never reach that replica, so let "
        + "its device sync an empty database, and write anew what only its former file has"
    }
    return "\(remote) has another operation \(sequence) of replica \(replica), whose database was "
      + "copied, and nothing more of it comes from there; an empty database that syncs there gets "
      + "it all"
  }
}
