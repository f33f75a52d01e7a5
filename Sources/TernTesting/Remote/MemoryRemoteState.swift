import Foundation
import Tern

/// What a ``MemoryRemote`` holds, and what it takes.
struct MemoryRemoteState {
  struct Head {
    var sequence: UInt64
    var time: HybridTime
    var continues = false
  }

  let epoch: String
  /// The operation at position n is at index n − 1; a base has no operation.
  var entries: [SyncOperation?] = []
  var heads: [ReplicaID: Head] = [:]
  /// Of every author, the indices of its operations by sequence.
  var places: [ReplicaID: [UInt64: Int]] = [:]
  /// What each replica asked to pull after.
  var readers: [ReplicaID: Int] = [:]
  var trimmed = 0
  /// In the order of their beginnings; few.
  var snapshots: [MemorySnapshot] = []
  /// How many uploads were begun.
  var begun = 0
  /// The last state report, at which position it came, and whether another one of that differed.
  var report: StateReport?
  var reportedAt = 0
  var isDisputed = false
  var nextListener = 0
  var listeners: [Int: AsyncThrowingStream<UInt64, any Error>.Continuation] = [:]

  init(epoch: String) {
    self.epoch = epoch
  }

  var position: UInt64 { UInt64(entries.count) }
  /// The oldest first.
  var whole: [MemorySnapshot] {
    snapshots.filter(\.isComplete).sorted { $0.position < $1.position }
  }

  /// While it is of the newest position.
  var newestReport: StateReport? {
    report.flatMap { $0.cursor == cursor(at: entries.count) ? $0 : nil }
  }

  func isDisputed(since snapshot: MemorySnapshot?) -> Bool {
    isDisputed && Int(snapshot?.position ?? 0) < reportedAt
  }

  func cursor(at index: Int) -> RemoteCursor { RemoteCursor(rawValue: "\(epoch).\(index)") }

  func position(of cursor: RemoteCursor) throws -> Int {
    let prefix = epoch + "."
    let text = cursor.rawValue
    guard text.hasPrefix(prefix), let known = Int(text.dropFirst(prefix.count)),
      (0...entries.count).contains(known)
    else { throw RemoteError(.cursorUnknown, "the cursor is not of this remote") }
    return known
  }

  mutating func take(_ operation: SyncOperation, now: Date?) throws {
    let envelope = operation.envelope
    let head = heads[envelope.replica]
    func refusal(_ code: RemoteError.Code, _ message: String) -> RemoteError {
      RemoteError(
        code, "operation \(envelope.sequence) of replica \(envelope.replica) \(message)",
        replica: envelope.replica, sequence: envelope.sequence, now: now)
    }
    if envelope.sequence <= head?.sequence ?? 0 {
      guard let place = places[envelope.replica]?[envelope.sequence] else {
        throw refusal(.sequenceGap, "is in the snapshot")
      }
      guard entries[place] == operation else {
        throw refusal(.sequenceConflict, "is another one here")
      }
      return
    }
    guard envelope.sequence == (head?.sequence ?? 0) + 1 else {
      throw refusal(.sequenceGap, "came before the one that it follows")
    }
    if let now, MemoryRemote.isAhead(envelope.time, of: now) {
      throw refusal(.timeAhead, "is more than five minutes ahead")
    }
    if let head {
      guard head.continues ? envelope.time == head.time : envelope.time > head.time else {
        throw refusal(.timeNotIncreasing, "is not later than the one before it")
      }
    }
    heads[envelope.replica] = Head(
      sequence: envelope.sequence, time: envelope.time, continues: envelope.continues)
    places[envelope.replica, default: [:]][envelope.sequence] = entries.count
    entries.append(operation)
  }
}
