import TernCore

/// Where a replica stands at one remote.
package struct RemotePlace: Hashable, Sendable {
  /// ``Remote/id``.
  package var remoteID: String
  /// The remote's epoch when the cursor was given.
  package var epoch: String
  /// Everything before it is merged; `nil` for the beginning.
  package var cursor: RemoteCursor?
  /// Whose operations the page that led there leaves out, because they were this replica's own.
  var excluded: ReplicaID?

  package init(remoteID: String, epoch: String, cursor: RemoteCursor?) {
    self.remoteID = remoteID
    self.epoch = epoch
    self.cursor = cursor
  }
}
