#if Server && Rehearsal
import Foundation
import Tern
import TernCore

/// What can be read of one file of a shared folder, read by the format alone.
struct FolderContent {
  struct Found {
    let operation: SyncOperation
    /// Of the frame that it is in.
    let end: Int
  }

  private(set) var found: [ReplicaID: [UInt64: Found]] = [:]
  /// The whole frames, with the head.
  private var bytes: [UInt8] = []
  private var check: UInt32 = 0

  /// - Parameter file: all its bytes. Where they begin as they did before, only the rest is read.
  mutating func read(_ file: [UInt8]) {
    if !file.begins(with: bytes) { self = FolderContent() }
    file.withUnsafeBytes { buffer in
      var end = bytes.count
      if end == 0 {
        // None, or one that is not there in full.
        guard let head = try? FolderHead(buffer) else { return }
        (end, check) = (head.byteCount, head.check)
      }
      while case .whole(let operations, let count, let next) = FolderFrame(
        UnsafeRawBufferPointer(rebasing: buffer[end...]), after: check)
      {
        (end, check) = (end + count, next)
        for operation in operations { add(operation, end) }
      }
      bytes = Array(buffer[..<end])
    }
  }

  private mutating func add(_ operation: SyncOperation, _ end: Int) {
    let envelope = operation.envelope
    if found[envelope.replica]?[envelope.sequence] == nil {
      found[envelope.replica, default: [:]][envelope.sequence] = Found(
        operation: operation, end: end)
    }
  }
}

extension [UInt8] {
  /// As `starts(with:)`, which takes long where nothing is optimised.
  fileprivate func begins(with other: [UInt8]) -> Bool {
    count >= other.count && memcmp(self, other, other.count) == 0
  }
}
#endif
