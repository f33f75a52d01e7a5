#if Server && Rehearsal
import Foundation

/// Keeps the files of a process as they were at its death: what its objects remove while they are
/// taken apart, a dead process would have left.
final class CrashedDisk {
  private let files: String
  private let shadow: String
  /// The folder of the process's own files, below ``files``.
  var session: String?

  init(files: String, shadow: String) {
    (self.files, self.shadow) = (files, shadow)
  }

  func sessions() -> Set<String> {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: files)) ?? []
    return Set(names.filter { !$0.hasSuffix(".lock") })
  }

  func freeze() throws {
    guard let session else { return }
    try FileManager.default.createDirectory(atPath: shadow, withIntermediateDirectories: true)
    for name in try FileManager.default.contentsOfDirectory(atPath: "\(files)/\(session)") {
      try FileManager.default.linkItem(
        atPath: "\(files)/\(session)/\(name)", toPath: "\(shadow)/\(name)")
    }
  }

  func thaw() throws {
    guard let session else { return }
    for name in try FileManager.default.contentsOfDirectory(atPath: shadow).sorted()
    where !FileManager.default.fileExists(atPath: "\(files)/\(session)/\(name)") {
      try FileManager.default.moveItem(
        atPath: "\(shadow)/\(name)", toPath: "\(files)/\(session)/\(name)")
    }
    try FileManager.default.removeItem(atPath: shadow)
  }

  /// Every file below a folder of sessions, by the name that a job's row has for it.
  static func all(_ files: String) throws -> Set<String> {
    var found: Set<String> = []
    for session in try FileManager.default.contentsOfDirectory(atPath: files) {
      guard let names = try? FileManager.default.contentsOfDirectory(atPath: "\(files)/\(session)")
      else { continue }
      for name in names where name != "lock" { found.insert("\(session)/\(name)") }
    }
    return found
  }
}
#endif
