#if Server
import TernCore

/// What the text of a ``RemoteCursor`` says: `epoch.position.check`.
///
/// The check is taken from the chain of everything up to that position. A server that was restored
/// from a backup goes on to another history, and notices.
struct SpaceCursor: Hashable {
  var epoch: String
  var position: UInt64
  /// Empty at position 0.
  var check: String

  init(epoch: String, position: UInt64, chain: ChainDigest?) {
    self.epoch = epoch
    self.position = position
    check = chain?.check ?? ""
  }

  /// Reads a cursor's text, or gives `nil`; only the form that ``cursor`` writes is one.
  init?(_ cursor: RemoteCursor) {
    let parts = cursor.rawValue.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let position = UInt64(parts[1]), position <= Self.maximumPosition
    else { return nil }
    epoch = String(parts[0])
    self.position = position
    check = String(parts[2])
    guard self.cursor == cursor else { return nil }
  }

  /// Positions are stored as signed 64-bit numbers.
  static let maximumPosition = UInt64(Int64.max)

  var cursor: RemoteCursor { RemoteCursor(rawValue: "\(epoch).\(position).\(check)") }
}
#endif
