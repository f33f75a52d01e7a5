import Foundation

/// Turns a photo upright and makes it small enough to send.
enum PhotoPreparation {
  /// Turned by EXIF, the long edge at most 1920 pixels, JPEG of quality 85, without what else the
  /// camera wrote into it, e.g. where it was taken.
  static func run(from source: String, to target: String) async throws {
    let status = try await ChildProcess.run(
      "gm", of: "graphicsmagick",
      [
        "convert", "-limit", "Pixels", "\(Photo.mostPixels)", source, "-auto-orient", "-resize",
        "1920x1920>", "-strip", "-quality", "85", "jpeg:\(target)",
      ])
    guard status.code == 0 else {
      throw ServiceError(
        .permanent, "the photo can't be prepared: \(status.text.prefix(200)); take it again")
    }
  }
}
