#if Server
import TernCore

/// Writes operations as a replica does, one after the other.
struct Author {
  let replica: ReplicaID
  var sequence: UInt64 = 0
  var time: HybridTime

  init(_ number: UInt64, milliseconds: Int64 = 1_000_000) {
    replica = ReplicaID(high: number, low: number)
    time = HybridTime(milliseconds: milliseconds)
  }

  /// The next operation; its body says `text`.
  mutating func write(
    _ text: String = "", at milliseconds: Int64 = 0, continues: Bool = false
  ) -> SyncOperation {
    time = time.next(atMilliseconds: milliseconds)
    return fragment(text, continues: continues)
  }

  /// The next operation, at the time of the previous one.
  mutating func fragment(_ text: String = "", continues: Bool = false) -> SyncOperation {
    sequence += 1
    let envelope = SyncOperation.Envelope(
      replica: replica, sequence: sequence, time: time, continues: continues)
    return SyncOperation(envelope, body: Array(text.utf8))
  }

  mutating func write(count: Int, bytes: Int = 0) -> [SyncOperation] {
    (0..<count).map { _ in write(String(repeating: "x", count: bytes)) }
  }
}
#endif
