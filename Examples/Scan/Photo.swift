import Foundation

/// What the first bytes of a picture say.
struct Photo {
  static let mostBytes = 50 << 20
  static let mostPixels = 100_000_000

  let width: Int
  let height: Int

  /// - Throws: ``PhotoError``: what the file is not, and what to do.
  init(contentsOf path: String) throws {
    // Opening a pipe would wait for somebody who writes to it.
    let descriptor = open(path, O_RDONLY | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw PhotoError(path, "can't be read: \(String(cString: strerror(errno)))")
    }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw PhotoError(path, "is no file")
    }
    let size = try file.seekToEnd()
    guard size > 0 else { throw PhotoError(path, "is empty; copy it again") }
    guard size <= Self.mostBytes else {
      throw PhotoError(path, "has \(size >> 20) MB, more than \(Self.mostBytes >> 20)")
    }
    try file.seek(toOffset: 0)
    // The size of a picture stands behind its colour profile, preview and depth.
    let head = [UInt8](try file.read(upToCount: 16 << 20) ?? Data())
    guard let (width, height) = Self.pngSize(head) ?? Self.jpegSize(head) else {
      throw PhotoError(path, "is no JPEG or PNG picture, whatever its name says")
    }
    // A header can say numbers whose product no integer holds.
    guard width > 0, height > 0, height <= Self.mostPixels / width else {
      throw PhotoError(
        path,
        "is \(width) × \(height); at most \(Self.mostPixels / 1_000_000) megapixels, "
          + "make it smaller")
    }
    self.width = width
    self.height = height
  }

  /// - Source: PNG specification, section 11.2.1.
  private static func pngSize(_ head: [UInt8]) -> (Int, Int)? {
    guard head.count >= 24, head.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
    else { return nil }
    func number(_ at: Int) -> Int { head[at..<at + 4].reduce(0) { $0 << 8 | Int($1) } }
    return (number(16), number(20))
  }

  /// - Source: ITU T.81, section B.2: the frame header follows one of the SOF markers.
  private static func jpegSize(_ head: [UInt8]) -> (Int, Int)? {
    guard head.starts(with: [0xFF, 0xD8, 0xFF]) else { return nil }
    var at = 2
    while at + 9 < head.count, head[at] == 0xFF {
      let marker = head[at + 1]
      // Any number of these may stand before a marker.
      if marker == 0xFF {
        at += 1
        continue
      }
      let length = Int(head[at + 2]) << 8 | Int(head[at + 3])
      if 0xC0...0xCF ~= marker, ![0xC4, 0xC8, 0xCC].contains(marker) {
        let height = Int(head[at + 5]) << 8 | Int(head[at + 6])
        return (Int(head[at + 7]) << 8 | Int(head[at + 8]), height)
      }
      at += 2 + max(length, 2)
    }
    return nil
  }
}

struct PhotoError: Error, CustomStringConvertible {
  let description: String

  init(_ path: String, _ what: String) {
    description = "\(path) \(what)"
  }
}
