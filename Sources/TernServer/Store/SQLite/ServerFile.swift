#if Server
import Foundation
import TernDatabase

/// What the first bytes of a data file tell, read without a statement, which could change the file.
///
/// - Source: "Database File Format", https://www.sqlite.org/fileformat2.html, section 1.3.
package struct ServerFile {
  /// "TSRV", in the file's application id.
  static let applicationID: Int32 = 0x5453_5256
  package static let formatVersion: Int32 = 9
  /// Its snapshots have another heading than those before and after, under the same name.
  static let unreadableVersion: Int32 = 3

  /// Of the file itself, where a link was named: that is beside which SQLite has its log.
  let path: String

  init(path: String) { self.path = Self.followingLinks(path) }

  /// Not of folders, which are one folder by any name.
  private static func followingLinks(_ path: String) -> String {
    var path = path
    // As many as the system follows.
    for _ in 0..<40 {
      // It throws of what is no link.
      guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path)
      else { break }
      let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
      path = URL(fileURLWithPath: target, relativeTo: folder).path
    }
    return path
  }

  /// Whether there is a store in the file; an empty file is none, and neither is one that a crash
  /// left while it was made, which SQLite empties when it opens it.
  ///
  /// - Throws: ``StoreError``.
  func holdsStore() throws -> Bool {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
      try checkFolder()
      return false
    }
    guard !isFolder.boolValue else {
      throw StoreError(.inaccessible, "\(path) is a folder; name a file")
    }
    guard FileManager.default.isWritableFile(atPath: path) else {
      throw StoreError(.inaccessible, "\(path) can't be written; change its permissions")
    }
    try checkFolder()
    let header = try readHeader()
    guard !header.isEmpty else { return false }
    if hasJournal, !isOtherDatabase(header) { return false }
    try check(header)
    return true
  }

  /// What a crash leaves of a store that was being made: later the file has a log instead.
  private var hasJournal: Bool {
    FileManager.default.fileExists(atPath: path + "-journal")
  }

  private func isOtherDatabase(_ header: [UInt8]) -> Bool {
    header.count == 100 && header.starts(with: "SQLite format 3\0".utf8)
      && Self.number(at: 68, in: header) != Self.applicationID
  }

  /// SQLite writes its log beside the file, so the folder must be writable too.
  private func checkFolder() throws {
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    guard FileManager.default.isWritableFile(atPath: folder) else {
      throw StoreError(
        .inaccessible, "the folder \(folder) is absent or can't be written; make it first")
    }
  }

  private func readHeader() throws -> [UInt8] {
    do {
      return try DatabaseFileBytes(path: path).read(100)
    } catch {
      throw StoreError(.inaccessible, "\(path) can't be read; change its permissions: \(error)")
    }
  }

  private func check(_ header: [UInt8]) throws {
    guard header.count == 100, header.starts(with: "SQLite format 3\0".utf8),
      Self.number(at: 68, in: header) == Self.applicationID
    else {
      throw Self.notServerFile(path)
    }
    try Self.checkVersion(Self.number(at: 60, in: header), path: path)
  }

  static func checkVersion(_ version: Int32, path: String) throws {
    guard version <= formatVersion else {
      throw StoreError(
        .newerFormat,
        "\(path) has format \(version) and this version of Tern knows up to \(formatVersion); "
          + "update Tern")
    }
    guard version != unreadableVersion else {
      throw StoreError(
        .olderFormat,
        "\(path) has format \(version), which a Tern before its first release had for a while; "
          + "serve a new file, to which the devices bring what they have")
    }
  }

  static func notServerFile(_ path: String) -> StoreError {
    StoreError(.notServerFile, "\(path) is no data file of a Tern server; name another file")
  }

  private static func number(at offset: Int, in header: [UInt8]) -> Int32 {
    Int32(bitPattern: header[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) })
  }
}
#endif
