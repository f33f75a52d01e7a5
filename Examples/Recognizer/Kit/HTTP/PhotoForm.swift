import HTTPTypes
import Hummingbird
import NIOCore

/// Takes the photos out of a request.
struct PhotoForm {
  let limits: ScanLimits

  private static let fieldName = "photos[]"

  /// - Throws: ``Problem`` when it is no form, or holds no photos, too many or too large ones.
  func photos(_ request: Request) async throws -> [[UInt8]] {
    guard let boundary = Multipart.boundary(request.headers[.contentType]) else {
      throw Problem(415, "UNSUPPORTED_MEDIA_TYPE", "send multipart/form-data with a boundary")
    }
    // Room for headers, and for one photo too many, which is refused by its own name.
    let limit = (limits.photosPerJob + 1) * (limits.photoBytes + Multipart.headLimit)
    guard request.headers[.contentLength].flatMap({ Int($0) }) ?? 0 <= limit else {
      throw tooLarge
    }
    let body: ByteBuffer
    do {
      body = try await request.body.collect(upTo: limit)
    } catch is NIOTooManyBytesError {
      throw tooLarge
    }
    let parts = try Multipart.parts(
      of: Array(body.readableBytesView), boundary: boundary, limit: limits.photosPerJob * 4)
    let photos = parts.filter { $0.name == Self.fieldName }.map { Array($0.content) }
    guard (1...limits.photosPerJob).contains(photos.count) else {
      throw Problem(
        400, "INVALID_PHOTO_COUNT",
        "send 1 to \(limits.photosPerJob) photos as '\(Self.fieldName)', not \(photos.count)")
    }
    guard photos.allSatisfy({ $0.count <= limits.photoBytes }) else { throw tooLarge }
    guard photos.allSatisfy(Self.isPicture) else {
      throw Problem(415, "UNSUPPORTED_PHOTO", "a photo is a JPEG or a PNG")
    }
    guard photos.allSatisfy({ PictureHeader($0)?.isReasonable ?? true }) else {
      throw Problem(
        413, "PHOTO_TOO_LARGE",
        "a photo has 1 to \(PictureHeader.mostPixels / 1_000_000) million pixels")
    }
    return photos
  }

  private var tooLarge: Problem {
    Problem(413, "PHOTO_TOO_LARGE", "a photo has at most \(limits.photoBytes) bytes")
  }

  /// By its first bytes, whatever its name says.
  private static func isPicture(_ bytes: [UInt8]) -> Bool {
    bytes.starts(with: PictureHeader.jpegSignature)
      || bytes.starts(with: PictureHeader.pngSignature)
  }
}
