import Foundation

/// Parts in one file, in their order, that can be read again: what is on its way between two
/// places, and too much for memory. One that has a name goes on where a process left it.
///
/// Nothing is synced: a part that losing power damaged has to be found out by its reader.
package final class PartFile {
  /// How many parts there are.
  package var count: Int { offsets.count - 1 }
  /// How long they are together.
  package var byteCount: Int { offsets.last! - offsets[0] - count * Self.lengthBytes }
  /// What the parts are of.
  package let key: String
  private let descriptor: CInt
  private let path: String
  private let isNamed: Bool
  /// Where each part begins, behind its length, and where the next would.
  private var offsets: [Int] = []

  private static let magic: [UInt8] = Array("TRNP".utf8)
  private static let lengthBytes = 4

  /// A file of its own in the system's folder for such files, gone with this object.
  ///
  /// - Throws: ``FileFailure``.
  package convenience init() throws {
    var template = Array((NSTemporaryDirectory() + "/tern-parts-XXXXXX").utf8CString)
    let descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw FileFailure("making a temporary file") }
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    unlink(path)
    try self.init(descriptor, path, key: "", isNamed: false)
  }

  /// The file at a path, made where there is none, and emptied where it holds parts of something
  /// else.
  ///
  /// - Throws: ``FileFailure``.
  package convenience init(_ path: String, key: String) throws {
    let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw FileFailure("opening a file for parts") }
    try self.init(descriptor, path, key: key, isNamed: true)
  }

  private init(_ descriptor: CInt, _ path: String, key: String, isNamed: Bool) throws {
    (self.descriptor, self.path, self.key, self.isNamed) = (descriptor, path, key, isNamed)
    let head = Self.magic + Array(key.utf8) + [0]
    if try read(head.count, at: 0) != head {
      try cut(to: 0)
      try write(head, at: 0)
    }
    offsets = [head.count]
    // What ends in the middle of a part was being written when its process died.
    let end = try size()
    while let next = try next(after: offsets.last!, end) { offsets.append(next) }
    try cut(to: offsets.last!)
  }

  deinit {
    close(descriptor)
  }

  private func next(after offset: Int, _ end: Int) throws -> Int? {
    let header = try read(Self.lengthBytes, at: offset)
    guard header.count == Self.lengthBytes else { return nil }
    let next = offset + Self.lengthBytes + header.reduce(0) { $0 << 8 | Int($1) }
    return next <= end ? next : nil
  }

  /// - Throws: ``FileFailure``; what was there stays.
  package func append(_ part: [UInt8]) throws {
    let end = offsets.last!
    let length = UInt32(part.count).bigEndian
    do {
      try write(withUnsafeBytes(of: length) { Array($0) } + part, at: end)
    } catch {
      try cut(to: end)
      throw error
    }
    offsets.append(end + Self.lengthBytes + part.count)
  }

  /// - Returns: `nil` behind the last.
  /// - Throws: ``FileFailure``.
  package func part(_ index: Int) throws -> [UInt8]? {
    guard index < count else { return nil }
    let start = offsets[index] + Self.lengthBytes
    return try read(offsets[index + 1] - start, at: start)
  }

  /// Removes the file from its folder.
  package func remove() {
    if isNamed { Self.remove(path) }
  }

  /// Removes the file at a path, where there is one.
  package static func remove(_ path: String) {
    unlink(path)
  }

  // MARK: - The file

  private func size() throws -> Int {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw FileFailure("looking at a file") }
    return Int(status.st_size)
  }

  private func cut(to size: Int) throws {
    guard ftruncate(descriptor, off_t(size)) == 0 else { throw FileFailure("cutting a file") }
  }

  private func read(_ count: Int, at offset: Int) throws -> [UInt8] {
    try ReadFile.read(count, at: offset, of: descriptor, DurableFile.fromDisk)
  }

  private func write(_ bytes: [UInt8], at offset: Int) throws {
    try bytes.withUnsafeBytes { buffer in
      var written = 0
      while written < buffer.count {
        let count = pwrite(
          descriptor, buffer.baseAddress! + written, buffer.count - written,
          off_t(offset + written))
        if count >= 0 {
          written += count
        } else if errno != EINTR {
          throw FileFailure("writing a file")
        }
      }
    }
  }
}
