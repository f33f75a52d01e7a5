#if Server
import CTernAPI
import Hummingbird
import NIOCore

/// The description of the API for operators: the file `Sources/CTernAPI/admin.json`.
///
/// - Source: OpenAPI Specification 3.1.
enum AdminDocument {
  private static let bytes: ByteBuffer = {
    var count = 0
    let start = tern_admin_document(&count)
    return ByteBuffer(bytes: UnsafeRawBufferPointer(start: start, count: count))
  }()

  static var response: Response {
    Response(
      status: .ok, headers: [.contentType: "application/json"], body: .init(byteBuffer: bytes))
  }
}
#endif
