import Foundation

/// A file that a person names for what a program writes.
package enum OutputFile {
  /// Writes a text to where the path leads. A regular file is replaced as a whole, keeps its access
  /// rights, and is what it was when this fails; a new one is its owner's alone. Behind a link that is the file that it names. What is
  /// none, such as a pipe or a device, is written into.
  ///
  /// - Throws: ``Refusal`` with ``Ending/disk``.
  package static func write(_ text: String, to path: String) throws {
    // Without a file, the path itself is where one will be.
    let target = realpath(path, nil).map { resolved in
      defer { free(resolved) }
      return String(cString: resolved)
    }
    var status = stat()
    guard let target, stat(target, &status) == 0 else {
      return try write(text, path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      return try write(text, path, O_WRONLY, 0)
    }
    let part = "\(target).\(getpid()).part"
    try write(text, part, O_WRONLY | O_CREAT | O_EXCL, 0o600, named: path)
    // Only root can give a file away; anybody else's new one is their own.
    _ = chown(part, status.st_uid, status.st_gid)
    guard chmod(part, status.st_mode & 0o7777) == 0, rename(part, target) == 0 else {
      let refusal = refusal(path)
      unlink(part)
      throw refusal
    }
  }

  /// A file that is made by this is removed where the text has no room.
  private static func write(
    _ text: String, _ path: String, _ flags: CInt, _ mode: mode_t, named name: String? = nil
  ) throws {
    var isNew = flags & O_EXCL != 0
    var file = open(path, flags | O_CLOEXEC, mode)
    if file < 0, errno == EEXIST {
      // A link that leads to where no file is yet.
      (isNew, file) = (false, open(path, flags & ~O_EXCL | O_CLOEXEC, mode))
    }
    guard file >= 0 else { throw refusal(name ?? path) }
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Foundation.write(file, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else {
        let refusal = refusal(name ?? path)
        close(file)
        if isNew { unlink(path) }
        throw refusal
      }
      bytes.removeFirst(count)
    }
    // Some file systems say only now that there is no room.
    guard close(file) == 0 else {
      let refusal = refusal(name ?? path)
      if isNew { unlink(path) }
      throw refusal
    }
  }

  private static func refusal(_ path: String) -> Refusal {
    Refusal("\(path) can't be written: \(String(cString: strerror(errno)))", .disk)
  }
}

/// A database that holds what is nobody else's business.
package enum PrivateFile {
  /// Makes an empty file that only its owner may read, where there is none: SQLite opens it as a new
  /// database, and gives what it puts beside it the same rights. Whoever opens it says what is wrong
  /// where this can't be done.
  package static func make(_ path: String) {
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if file >= 0 { close(file) }
  }
}
