import Foundation

/// A file that is open to be read, and may grow or be replaced meanwhile.
package final class ReadFile {
  package let identity: FileIdentity
  private let descriptor: CInt
  private let read: DurableFile.Read

  /// - Returns: `nil` where there is none.
  /// - Throws: ``FileFailure``.
  package init?(_ path: String, _ read: @escaping DurableFile.Read = DurableFile.fromDisk) throws {
    // Not to wait for a writer, should the name be a pipe's.
    let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    if descriptor < 0, errno == ENOENT { return nil }
    guard descriptor >= 0 else { throw FileFailure("opening a file") }
    (self.descriptor, self.read) = (descriptor, read)
    do { identity = try FileIdentity(descriptor) } catch {
      close(descriptor)
      throw error
    }
  }

  deinit {
    close(descriptor)
  }

  /// Up to `count` bytes from an offset on; fewer only at the file's end.
  ///
  /// - Throws: ``FileFailure``.
  package func read(_ count: Int, at offset: Int) throws -> [UInt8] {
    try Self.read(count, at: offset, of: descriptor, read)
  }

  static func read(
    _ count: Int, at offset: Int, of descriptor: CInt, _ read: DurableFile.Read
  ) throws -> [UInt8] {
    var failure: FileFailure?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let rest = UnsafeMutableRawBufferPointer(
          rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
        let got = read(descriptor, rest, offset + filled)
        if got == 0 { return }
        if got > 0 {
          filled += got
        } else if errno != EINTR {
          failure = FileFailure("reading a file")
          return
        }
      }
    }
    if let failure { throw failure }
    return bytes
  }
}

/// A folder that may be on a share or a stick, and so come and go.
package enum FolderListing {
  /// Whether there is a folder.
  package static func exists(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  package static func isLink(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
  }

  /// Its names, and which file each leads to; `nil` where there is no folder. Links are not
  /// followed.
  ///
  /// - Throws: ``FileFailure``.
  package static func read(_ path: String) throws -> [String: FileIdentity]? {
    guard let stream = opendir(path) else {
      if errno == ENOENT { return nil }
      throw FileFailure("opening a folder")
    }
    defer { closedir(stream) }
    var names: [String: FileIdentity] = [:]
    while true {
      errno = 0
      guard let entry = readdir(stream) else {
        if errno != 0 { throw FileFailure("reading a folder") }
        return names
      }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name == "." || name == ".." { continue }
      var status = stat()
      // It may be gone again, or have a name that is no text.
      if fstatat(dirfd(stream), name, &status, AT_SYMLINK_NOFOLLOW) == 0 {
        names[name] = FileIdentity(status)
      }
    }
  }

  /// Makes a folder in one that is there, for its owner alone, if it is not there already.
  ///
  /// - Parameter isNamed: whether a folder that is there is known to be so durably.
  /// - Throws: ``FileFailure``.
  package static func create(_ path: String, _ durable: DurableFile, isNamed: Bool) throws {
    let isNew = mkdir(path, OwnerOnly.folder) == 0
    guard isNew || errno == EEXIST else { throw FileFailure("creating a folder") }
    if isNew || !isNamed { try durable.syncFolder(of: path) }
  }
}
