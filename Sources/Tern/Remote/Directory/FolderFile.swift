import TernCore
import TernDatabase

/// One file of a folder, as far as it was read.
struct FolderFile: Sendable {
  /// What follows the last whole frame.
  enum Rest: Hashable, Sendable {
    case nothing
    /// A frame that is not all there yet, or whose writer died: more may come in its place.
    case torn
    /// What no more bytes make whole.
    case damaged(String)
    /// The system does not give it.
    case unreadable(String)
  }

  struct Frame: Sendable {
    let offset: Int
    let byteCount: Int
    /// Of the file before it.
    let check: UInt32
  }

  let name: String
  /// As it was when it was read last.
  var identity: FileIdentity
  private(set) var frames: [Frame] = []
  private(set) var rest = Rest.nothing
  /// Where the last whole frame ends, and the check of everything before; 0 without a head.
  private(set) var end = 0
  private(set) var check: UInt32 = 0
  private(set) var writer: ReplicaID?

  init(name: String, identity: FileIdentity) {
    self.name = name
    self.identity = identity
  }

  var ignored: DirectoryRemote.IgnoredFile? {
    switch rest {
    case .nothing: nil
    case .torn:
      DirectoryRemote.IgnoredFile(name: name, offset: end, reason: "the end is not all there yet")
    case .damaged(let reason), .unreadable(let reason):
      DirectoryRemote.IgnoredFile(name: name, offset: end, reason: reason)
    }
  }

  /// Whether there is nothing to be read again where its identity is the same: what could not be
  /// read, or not to its end, can be another day.
  func isRead(_ isThorough: Bool) -> Bool {
    switch rest {
    case .nothing: true
    // A disk may have given what it does not have.
    case .damaged: !isThorough
    case .torn, .unreadable: false
    }
  }

  mutating func refuse(_ rest: Rest) {
    self.rest = rest
  }

  /// Whether what was read is still what the file begins with.
  func continues(in file: ReadFile) throws -> Bool {
    guard end > 0 else { return true }
    let stored = try file.read(FolderFormat.checkBytes, at: end - FolderFormat.checkBytes)
    var expected = ByteWriter()
    expected.append(fixed: check)
    return stored == expected.bytes
  }

  /// Reads what is new, from the end of what was read before.
  mutating func readOn(
    in file: ReadFile, space: String, _ found: (_ operation: SyncOperation, _ frame: Int) -> Void
  ) throws {
    identity = file.identity
    rest = .nothing
    if end == 0, try !readHead(in: file, space: space) { return }
    let size = file.identity.byteCount
    let least = FolderFormat.lengthBytes + FolderFormat.checkBytes
    var (window, start, wanted): ([UInt8], Int, Int) = ([], end, least)
    while true {
      if window.count - (end - start) < wanted, start + window.count < size {
        window = try file.read(max(wanted, Self.windowBytes), at: end)
        start = end
      }
      let available = window.count - (end - start)
      let step = window.withUnsafeBytes { bytes in
        FolderFrame(UnsafeRawBufferPointer(rebasing: bytes[(end - start)...]), after: check)
      }
      switch step {
      case .whole(let operations, let byteCount, let next):
        for operation in operations { found(operation, frames.count) }
        frames.append(Frame(offset: end, byteCount: byteCount, check: check))
        end += byteCount
        check = next
        wanted = least
      case .needs(let count):
        // Otherwise it was cut off while it was read, or the file ends here.
        if end + count <= size, wanted != count {
          wanted = count
          continue
        }
        rest = available == 0 ? .nothing : .torn
        return
      case .broken(let byteCount):
        let isAtEnd = byteCount.map { end + $0 >= size } ?? false
        // Some file systems leave zeros where a write did not come to the disk.
        let isBlank = window[(end - start)...].allSatisfy { $0 == 0 }
        rest = isAtEnd || isBlank ? .torn : .damaged("a frame is not as it was written")
        return
      case .unreadable(let error):
        rest = .damaged("a frame can't be read: \(error)")
        return
      }
    }
  }

  private mutating func readHead(in file: ReadFile, space: String) throws -> Bool {
    let bytes = try file.read(FolderFormat.Limit.headBytes, at: 0)
    do {
      let head = try bytes.withUnsafeBytes { try FolderHead($0) }
      guard head.space == space else {
        rest = .damaged("it belongs to another space")
        return false
      }
      (end, check, writer) = (head.byteCount, head.check, head.writer)
      return true
    } catch let error as WireError {
      let isBlank = bytes.allSatisfy { $0 == 0 }
      rest =
        error.code == .truncated || isBlank ? .torn : .damaged("it is no file of Tern's: \(error)")
      return false
    }
  }

  /// The operations of one frame, read again.
  ///
  /// - Returns: `nil` where the file is no longer what it was.
  func operations(of frame: Int, in file: ReadFile) throws -> [SyncOperation]? {
    let frame = frames[frame]
    let bytes = try file.read(frame.byteCount, at: frame.offset)
    return bytes.withUnsafeBytes { bytes in
      guard case .whole(let operations, _, _) = FolderFrame(bytes, after: frame.check) else {
        return nil
      }
      return operations
    }
  }

  private static let windowBytes = 1 << 20
}
