import CFaultVFS
import Foundation
import GRDBSQLite

/// A disk in memory that fails when it is told to, in place of a folder.
///
/// - Note: `@unchecked Sendable` because every call takes the VFS's lock.
final class Disk: @unchecked Sendable {
  /// The folder is real and empty: a program that looks for it outside of SQLite finds it.
  let folder: URL
  private let pointer: OpaquePointer

  convenience init() throws {
    try self.init(copied: nil)
  }

  /// A disk with what another one would keep without power.
  convenience init(copying other: Disk) throws {
    try self.init(copied: other.pointer)
  }

  private init(copied: OpaquePointer?) throws {
    guard tern_fault_vfs_register() == SQLITE_OK else { throw Unusable() }
    folder = Self.root.appendingPathComponent("tern-fault-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    guard let pointer = tern_fault_disk_make(folder.path, copied) else { throw Unusable() }
    self.pointer = pointer
  }

  /// In memory, where the system has such a folder: nothing that is really there has to last.
  private static let root: URL = {
    let memory = "/dev/shm"
    return FileManager.default.isWritableFile(atPath: memory)
      ? URL(filePath: memory) : FileManager.default.temporaryDirectory
  }()

  deinit {
    tern_fault_disk_free(pointer)
    try? FileManager.default.removeItem(at: folder)
  }

  func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

  // MARK: - Faults

  func arm(_ fault: TernFault) { tern_fault_disk_arm(pointer, fault) }
  func disarm() { tern_fault_disk_disarm(pointer) }
  var wasHit: Bool { tern_fault_disk_was_hit(pointer) }
  var isCrashed: Bool { tern_fault_disk_is_crashed(pointer) }
  /// Operations that the fault names, since the disk was armed.
  var count: Int { Int(tern_fault_disk_count(pointer)) }

  /// Ends the life of every open connection and starts anew.
  func cyclePower(keeping kept: Kept, seed: UInt64 = 0) throws {
    guard tern_fault_disk_cycle_power(pointer, kept.rawValue, seed) == SQLITE_OK else {
      throw Unusable()
    }
  }

  /// What is left of writes that were not synced.
  enum Kept: CInt {
    case all = 0
    case none = 1
    case some = 2
  }

  struct Unusable: Error {}

  // MARK: - Files

  /// The first bytes of a file, or `nil` when there is none.
  func head(of name: String, count: Int = 100) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    let size = tern_fault_disk_read(pointer, path(name), &bytes, Int64(count))
    return size < 0 ? nil : Array(bytes.prefix(Int(size)))
  }

  /// Shows a file's first bytes in the real folder, for a program that reads them without SQLite,
  /// or that there is no file.
  func showHead(of name: String) throws {
    let url = folder.appendingPathComponent(name)
    if let bytes = head(of: name) {
      try Data(bytes).write(to: url)
    } else if FileManager.default.fileExists(atPath: url.path) {
      try FileManager.default.removeItem(at: url)
    }
  }
}

/// Runs `body` at a time that stands still, so that a run's rows are the same each time: those of
/// databases in memory too, which are of no disk.
func atFixedTime<T>(perform body: () throws -> T) rethrows -> T {
  precondition(tern_fault_vfs_register() == SQLITE_OK, "SQLite takes no VFS")
  tern_fault_set_clock(1_800_000_000_000)
  defer { tern_fault_set_clock(0) }
  return try body()
}
