import ExampleService
import Foundation

extension PictureHeader {
  /// Looks at a file that somebody says is a picture. Nothing is decoded, and nothing waited for.
  ///
  /// - Parameter name: what a person calls the file, by default its path.
  /// - Throws: ``UnfitPicture``: what the file is not, and what to do; `CocoaError`.
  package init(ofFileAt path: String, named name: String? = nil, mostBytes: Int) throws {
    func unfit(_ what: String) -> UnfitPicture {
      UnfitPicture(description: "\(name ?? path) \(what)")
    }
    // Opening a pipe would wait for somebody who writes to it.
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw unfit("can't be read: \(String(cString: strerror(errno)))")
    }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw unfit("is no file")
    }
    guard status.st_size > 0 else { throw unfit("is empty; copy it again") }
    guard status.st_size <= mostBytes else {
      throw unfit("has \(status.st_size >> 20) MB, more than \(mostBytes >> 20)")
    }
    let head = [UInt8](try file.read(upToCount: Self.length) ?? Data())
    guard let header = PictureHeader(head) else {
      throw unfit("is no JPEG or PNG picture, whatever its name says")
    }
    guard header.isReasonable else {
      throw unfit(
        "is \(header.width) × \(header.height); at most \(Self.mostPixels / 1_000_000) "
          + "megapixels, make it smaller")
    }
    self = header
  }
}

extension PictureHeader {
  /// Writes a JPEG that is turned upright as the camera says, and without what else the camera
  /// wrote into it, e.g. where it was taken.
  ///
  /// - Parameter longestSide: in pixels; a larger picture is made smaller.
  /// - Throws: ``UnfitPicture`` for one that can't be decoded; ``ToolError``; `CancellationError`.
  package static func shrink(_ picture: URL, to target: URL, longestSide: Int) async throws {
    // A slow device with a picture of the largest size takes minutes, and no more for that.
    let (said, status) = try await Tool.graphicsMagick.run(
      [
        "convert", "-limit", "pixels", "\(mostPixels)", "-limit", "memory", "1GB", picture.path,
        "-auto-orient", "-resize", "\(longestSide)x\(longestSide)>", "-strip", "-quality", "85",
        "jpeg:\(target.path)",
      ], seconds: 600)
    guard status == 0 else {
      let reason = said.trimmingCharacters(in: .whitespacesAndNewlines)
      throw UnfitPicture(
        description: "the photo can't be prepared: \(reason.prefix(200)); take it again")
    }
  }
}

extension PictureHeader {
  /// A JPEG of the picture, as ``shrink(_:to:longestSide:)`` makes it.
  ///
  /// - Throws: as that.
  package static func small(_ picture: URL, longestSide: Int) async throws -> Data {
    try await TemporaryFile.with("jpg") { target in
      try await shrink(picture, to: target, longestSide: longestSide)
      return try Data(contentsOf: target)
    }
  }
}

/// Why a file is not taken as a picture.
public struct UnfitPicture: Error, Sendable, CustomStringConvertible {
  public let description: String
}
