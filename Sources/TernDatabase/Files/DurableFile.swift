import Foundation

/// Files that are there whole after a crash, or not at all to anyone who looks for their names.
package struct DurableFile: Sendable {
  /// How bytes are written, as write(2) does; a test's disk is full when it says so.
  package typealias Write = @Sendable (CInt, UnsafeRawBufferPointer) -> Int
  /// How bytes are read, as pread(2) does; a test's disk fails when it says so.
  package typealias Read = @Sendable (CInt, UnsafeMutableRawBufferPointer, Int) -> Int
  /// How a file or a folder is synced, as fsync(2) does; a test takes notes.
  package typealias Sync = @Sendable (CInt) -> CInt

  /// Whether files and folders are synced, so that they survive losing power.
  package var isSynced: Bool
  package var write: Write
  package var read: Read = Self.fromDisk
  private let synchronize: Sync

  package init(
    isSynced: Bool, write: @escaping Write = { Foundation.write($0, $1.baseAddress, $1.count) },
    sync: @escaping Sync = Self.toDisk
  ) {
    self.isSynced = isSynced
    self.write = write
    synchronize = sync
  }

  package static func toDisk(_ descriptor: CInt) -> CInt {
    #if canImport(Darwin)
    // fsync alone leaves data in the drive's cache.
    if fcntl(descriptor, F_FULLFSYNC) == 0 { return 0 }
    #endif
    return fsync(descriptor)
  }

  package static let fromDisk: Read = { pread($0, $1.baseAddress, $1.count, off_t($2)) }

  /// Makes a folder where there is none, and those above it, each durable in the one above.
  ///
  /// - Throws: ``FileFailure``.
  package func makeFolder(_ path: String) throws {
    if access(path, F_OK) == 0 { return }
    if let end = path.lastIndex(of: "/"), end > path.startIndex {
      try makeFolder(String(path[..<end]))
    }
    guard mkdir(path, OwnerOnly.folder) == 0 || errno == EEXIST else {
      throw FileFailure("making a folder")
    }
    try syncFolder(of: path)
  }

  /// Copies a file to a path where there is none yet; when it fails nothing is left there.
  ///
  /// - Returns: `false` when the source is longer than `maximumBytes`.
  /// - Throws: ``FileFailure``, `CancellationError` between two pieces.
  package func copy(_ source: String, to path: String, maximumBytes: Int) throws -> Bool {
    // What is no file, a pipe for one, could let both the opening and the reading wait for ever.
    let input = open(source, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard input >= 0 else { throw FileFailure("opening the file") }
    defer { close(input) }
    guard try regular(input) != nil else { throw FileFailure("copying what is no file", EINVAL) }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
    defer { buffer.deallocate() }
    return try create(path, maximumBytes: maximumBytes) {
      try Task.checkCancellation()
      while true {
        let count = Foundation.read(input, buffer.baseAddress, buffer.count)
        if count >= 0 { return UnsafeRawBufferPointer(rebasing: buffer[..<count]) }
        if errno != EINTR { throw FileFailure("reading the file") }
      }
    }
  }

  /// Writes bytes to a path where there is none yet; when it fails nothing is left there.
  ///
  /// - Throws: ``FileFailure``.
  package func create(_ path: String, _ bytes: UnsafeRawBufferPointer) throws {
    var rest = bytes[...]
    _ = try create(path, maximumBytes: .max) {
      defer { rest = rest[rest.endIndex...] }
      return UnsafeRawBufferPointer(rebasing: rest)
    }
  }

  private func create(
    _ path: String, maximumBytes: Int, _ next: () throws -> UnsafeRawBufferPointer
  ) throws -> Bool {
    let output = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, OwnerOnly.file)
    guard output >= 0 else { throw FileFailure("creating a file") }
    var isWhole = false
    defer {
      close(output)
      if !isWhole { unlink(path) }
    }
    var total = 0
    while case let piece = try next(), !piece.isEmpty {
      total += piece.count
      if total > maximumBytes { return false }
      try writeAll(piece, to: output)
    }
    try sync(output)
    try syncFolder(of: path)
    isWhole = true
    return true
  }

  func writeAll(_ bytes: UnsafeRawBufferPointer, to output: CInt) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = write(output, UnsafeRawBufferPointer(rebasing: rest))
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if count == 0 || errno != EINTR {
        throw FileFailure("writing a file", count == 0 ? EIO : errno)
      }
    }
  }

  /// Makes what somebody else wrote at a path durable, and says how long it is.
  ///
  /// - Returns: `nil` where there is no regular file.
  /// - Throws: ``FileFailure``.
  package func settle(_ path: String) throws -> Int? {
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
    if descriptor < 0, errno == ENOENT { return nil }
    guard descriptor >= 0 else { throw FileFailure("opening a file") }
    defer { close(descriptor) }
    guard let size = try regular(descriptor) else { return nil }
    try sync(descriptor)
    try syncFolder(of: path)
    return size
  }

  /// How long a file is; `nil` for what is no regular one.
  private func regular(_ descriptor: CInt) throws -> Int? {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw FileFailure("looking at a file") }
    return status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
  }

  /// A name is durable only when its folder is.
  package func syncFolder(of path: String) throws {
    guard isSynced else { return }
    let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    let descriptor = open(folder.isEmpty ? "/" : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileFailure("opening a folder") }
    defer { close(descriptor) }
    try sync(descriptor)
  }

  func sync(_ descriptor: CInt) throws {
    guard isSynced else { return }
    guard synchronize(descriptor) == 0 else { throw FileFailure("syncing a file") }
  }
}
