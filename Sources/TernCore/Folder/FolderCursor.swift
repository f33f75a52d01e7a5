/// Where a replica stands in a folder: the newest sequence number of every author that it was
/// given.
///
/// Sequence numbers and no places in files: those are renamed, doubled and replaced by older
/// copies by whatever carries the folder, and an operation is the same in each of them. With their
/// times, by which what a copy of the author's database wrote under those numbers is told apart.
package struct FolderCursor: Hashable, Sendable {
  package var given: VersionVector
  /// Of the newest given operations; of some it may be lacking, which no check is then for.
  package var times: [ReplicaID: HybridTime]

  package init(_ given: VersionVector = VersionVector(), times: [ReplicaID: HybridTime] = [:]) {
    (self.given, self.times) = (given, times)
  }

  /// Reads a cursor's text, or gives `nil`; only the form that ``cursor`` writes is one.
  package init?(_ cursor: RemoteCursor) {
    var (given, times) = (VersionVector(), [ReplicaID: HybridTime]())
    for entry in cursor.rawValue.split(separator: ",", omittingEmptySubsequences: false).dropFirst()
    {
      let parts = entry.split(separator: ":", omittingEmptySubsequences: false)
      guard 2...3 ~= parts.count, let replica = ReplicaID(parts[0]),
        let sequence = UInt64(parts[1]), sequence <= VersionVector.maximumSequence
      else { return nil }
      given[replica] = sequence
      if parts.count == 3 {
        guard let time = UInt64(parts[2], radix: 16) else { return nil }
        times[replica] = HybridTime(rawValue: time)
      }
    }
    (self.given, self.times) = (given, times)
    guard self.cursor == cursor else { return nil }
  }

  package var cursor: RemoteCursor {
    let entries = given.sorted.map { replica, sequence in
      let time = times[replica].map { ":\(String($0.rawValue, radix: 16))" }
      return "\(replica):\(sequence)\(time ?? "")"
    }
    return RemoteCursor(rawValue: (["folder1"] + entries).joined(separator: ","))
  }
}
