import Foundation
import TernCore

/// Who wrote something and when: by this (and the row's life) writes are ordered.
public struct WriteStamp: Hashable, Sendable {
  public var author: ReplicaID
  /// The author's clock, as corrected by its remote's, and later than all that it had merged.
  public var time: HybridTime
  /// Whether this replica is the author.
  public var isOwn: Bool

  package init(author: ReplicaID, time: HybridTime, isOwn: Bool) {
    self.author = author
    self.time = time
    self.isOwn = isOwn
  }
}

extension WriteStamp: CustomStringConvertible {
  public var description: String {
    let text = time.date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    return "\(author)\(isOwn ? " (this replica)" : "") at \(text)"
  }
}

extension Authors {
  func stamp(_ stamp: Stamp) -> WriteStamp {
    WriteStamp(author: ids[Int(stamp.author)], time: stamp.time, isOwn: stamp.author == 0)
  }
}
