import Foundation

/// A file that is removed with the last copy of it.
final class TemporaryFile: Sendable {
  let path: String

  init(_ bytes: [UInt8] = []) throws {
    path = FileManager.default.temporaryDirectory.appending(path: "tern-\(UUID()).bin").path
    try write(bytes)
  }

  deinit {
    unlink(path)
  }

  /// As written an hour ago, so that a later write shows in its time.
  func write(_ bytes: [UInt8]) throws {
    try Data(bytes).write(to: URL(filePath: path))
    let past = Date(timeIntervalSinceNow: -3600)
    try FileManager.default.setAttributes([.modificationDate: past], ofItemAtPath: path)
  }

  /// Overwrites a part in place, so that whoever has it open sees it.
  func overwrite(at offset: Int, with bytes: [UInt8]) throws {
    let file = try FileHandle(forUpdating: URL(filePath: path))
    defer { try? file.close() }
    try file.seek(toOffset: UInt64(offset))
    try file.write(contentsOf: bytes)
  }

  func truncate(to byteCount: Int) throws {
    let file = try FileHandle(forUpdating: URL(filePath: path))
    defer { try? file.close() }
    try file.truncate(atOffset: UInt64(byteCount))
  }

  func open() -> Int32 { Glibc.open(path, O_RDONLY | O_CLOEXEC) }

  /// Whether this process has it open.
  var isOpen: Bool {
    let folder = "/proc/self/fd"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.contains { name in
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")) == path
    }
  }
}
