#if Server
import CTernAPI
import Hummingbird
import NIOCore

/// The description of the HTTP API that the server gives to whoever asks: the file
/// `Sources/CTernAPI/openapi.json`.
///
/// - Source: OpenAPI Specification 3.1.
enum OpenAPIDocument {
  static let bytes: ByteBuffer = {
    var count = 0
    let start = tern_api_document(&count)
    return ByteBuffer(bytes: UnsafeRawBufferPointer(start: start, count: count))
  }()

  static var response: Response {
    Response(
      status: .ok, headers: [.contentType: "application/json"], body: .init(byteBuffer: bytes))
  }
}
#endif
