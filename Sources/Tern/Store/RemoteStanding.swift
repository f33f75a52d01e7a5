import TernCore

/// What a replica can say to a remote of what it has not pushed yet.
public struct RemoteStanding: Hashable, Sendable {
  /// When this replica wrote that, everything before it was here.
  public var basis: Cursor?
  /// Whether this replica never had another remote, so that nothing comes from elsewhere.
  public var isSole: Bool
  /// Whether all that was written without something before the place's cursor is at the remote: the
  /// cursor is then an acknowledgement.
  public var isAcknowledged: Bool

  public init(basis: Cursor? = nil, isSole: Bool = true, isAcknowledged: Bool = false) {
    self.basis = basis
    self.isSole = isSole
    self.isAcknowledged = isAcknowledged
  }
}
