import ExampleService
import Foundation
import Testing

@testable import RecognizerKit

/// What is sent of a photo.
@Suite(
  .enabled(if: PhotoReader.missingTools == nil, "the recognizer's tools are not installed"),
  .timeLimit(.minutes(1)))
struct PreparationTests {
  @Test func `a photo that was taken upright is turned, made smaller, and loses what else it says`()
    async throws
  {
    try await withFolder { folder in
      // Red on the left, blue on the right: held upright, red is above.
      try await gm(
        "convert", "-size", "1500x1500", "xc:red", "xc:blue", "+append", "-quality", "95",
        "jpeg:\(folder)/plain.jpg")
      let taken = "\(folder)/taken.jpg"
      var jpeg = try Data(contentsOf: URL(filePath: "\(folder)/plain.jpg"))
      jpeg.insert(contentsOf: exif(orientation: 6, camera: "Secret Camera"), at: 2)
      try jpeg.write(to: URL(filePath: taken))
      try #require(try await gm("identify", "-format", "%[EXIF:Orientation]", taken) == "6")

      let sent = try await shrunk(taken, to: "\(folder)/sent")
      #expect(try await gm("identify", "-format", "%m %w %h %Q", sent) == "JPEG 960 1920 85")
      let (above, below) = (
        try await colour(of: sent, atLine: 100), try await colour(of: sent, atLine: 1800)
      )
      #expect(above.red > 200 && above.blue < 60)
      #expect(below.blue > 200 && below.red < 60)
      let bytes = try Data(contentsOf: URL(filePath: sent))
      #expect(bytes.firstRange(of: Data("Exif".utf8)) == nil)
      #expect(bytes.firstRange(of: Data("Secret Camera".utf8)) == nil)
    }
  }

  @Test(arguments: [
    ("800x600", "800 600"), ("1920x1080", "1920 1080"), ("1921x1", "1920 1"),
    ("1000x4000", "480 1920"),
  ])
  func `only what is longer than the longest side is made smaller`(
    _ size: String, _ expected: String
  ) async throws {
    try await withFolder { folder in
      let photo = "\(folder)/photo.png"
      try await gm("convert", "-size", size, "xc:gray", photo)
      let sent = try await shrunk(photo, to: "\(folder)/sent")
      #expect(try await gm("identify", "-format", "%w %h", sent) == expected)
    }
  }

  // MARK: - Pictures

  private func shrunk(_ photo: String, to target: String) async throws -> String {
    try await PictureHeader.shrink(
      URL(filePath: photo), to: URL(filePath: target), longestSide: 1920)
    return target
  }

  /// An APP1 segment of a camera that was held so, by the numbers of the EXIF standard.
  ///
  /// - Source: CIPA DC-008 (Exif 2.32), sections 4.5.4 and 4.6.4.
  private func exif(orientation: UInt8, camera: String) -> [UInt8] {
    let make = Array(camera.utf8) + [0]
    var tiff: [UInt8] = Array("MM".utf8) + [0, 42, 0, 0, 0, 8]
    // Two entries: 271, the camera's make as text behind them, and 274, how it was held.
    tiff += [0, 2]
    tiff += [0x01, 0x0F, 0, 2, 0, 0, 0, UInt8(make.count), 0, 0, 0, 38]
    tiff += [0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0]
    tiff += [0, 0, 0, 0] + make
    let content = Array("Exif".utf8) + [0, 0] + tiff
    let length = content.count + 2
    return [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 0xFF)] + content
  }

  @discardableResult
  private func gm(_ words: String...) async throws -> String {
    let (output, status) = try await Tool.graphicsMagick.run(words, seconds: 60)
    try #require(status == 0, "gm \(words): \(output)")
    return output.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Of the pixel in a line's middle.
  private func colour(of picture: String, atLine line: Int) async throws
    -> (red: UInt8, blue: UInt8)
  {
    let raw = picture + ".rgb"
    try await gm("convert", picture, "-crop", "1x1+480+\(line)", "-depth", "8", "rgb:\(raw)")
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: raw)))
    try #require(bytes.count == 3)
    return (bytes[0], bytes[2])
  }

  private func withFolder(_ body: (String) async throws -> Void) async throws {
    let path = FileManager.default.temporaryDirectory.appending(
      path: "tern-preparation-\(UUID().uuidString)"
    ).path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    try await body(path)
  }
}
