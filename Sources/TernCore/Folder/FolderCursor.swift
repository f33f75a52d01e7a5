/// Where a replica stands in a folder: the newest sequence number of every author that it was
/// given.
///
/// Sequence numbers and no places in files: those are renamed, doubled and replaced by older
/// copies by whatever carries the folder, and an operation is the same in each of them.
package struct FolderCursor: Hashable, Sendable {
  package var given: VersionVector

  package init(_ given: VersionVector = VersionVector()) {
    self.given = given
  }

  /// Reads a cursor's text, or gives `nil`; only the form that ``cursor`` writes is one.
  package init?(_ cursor: RemoteCursor) {
    var given = VersionVector()
    for entry in cursor.rawValue.split(separator: ",", omittingEmptySubsequences: false).dropFirst()
    {
      let parts = entry.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count == 2, let replica = ReplicaID(parts[0]), let sequence = UInt64(parts[1]),
        sequence <= VersionVector.maximumSequence
      else { return nil }
      given[replica] = sequence
    }
    self.given = given
    guard self.cursor == cursor else { return nil }
  }

  package var cursor: RemoteCursor {
    let entries = given.sorted.map { "\($0.replica):\($0.sequence)" }
    return RemoteCursor(rawValue: (["folder1"] + entries).joined(separator: ","))
  }
}
