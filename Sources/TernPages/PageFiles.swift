#if Server
import HTTPTypes
import Hummingbird
import NIOCore

/// The files of a page, by the path at which they are served. They hold nobody's data.
package struct PageFiles: Sendable {
  private struct File: Sendable {
    let type: String
    let bytes: ByteBuffer
  }

  private var files: [String: File] = [:]

  package init() {}

  /// What a C target embeds.
  package typealias Embedded = (
    name: UnsafePointer<CChar>, type: UnsafePointer<CChar>, bytes: UnsafePointer<UInt8>, count: Int
  )

  /// Adds what the C compiler has embedded. Its bytes stay where they are while the process runs.
  ///
  /// - Parameter file: `nil` behind the last one.
  package mutating func add(embedded file: (Int) -> Embedded?) {
    var index = 0
    while let file = file(index) {
      add(
        String(cString: file.name), type: String(cString: file.type),
        UnsafeRawBufferPointer(start: file.bytes, count: file.count))
      index += 1
    }
  }

  /// - Parameters:
  ///   - name: empty for the page itself.
  ///   - type: a media type.
  package mutating func add(_ name: String, type: String, _ bytes: UnsafeRawBufferPointer) {
    files["/\(name)"] = File(type: type, bytes: ByteBuffer(bytes: bytes))
  }

  /// What is at a path, without ``headers``; `nil` where there is no file.
  package func response(to path: String) -> Response? {
    guard let file = files[path] else { return nil }
    return Response(
      status: .ok, headers: [.contentType: file.type], body: .init(byteBuffer: file.bytes))
  }

  /// Nothing but the page's own files runs in it, no other site embeds or reads it, and nothing of
  /// it is kept. A `blob:` picture is one that the page was given, or has made.
  package static let headers: HTTPFields = [
    HTTPField.Name("Content-Security-Policy")!: """
    default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
    connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'
    """,
    HTTPField.Name("Cross-Origin-Opener-Policy")!: "same-origin",
    HTTPField.Name("Cross-Origin-Resource-Policy")!: "same-origin",
    HTTPField.Name("Referrer-Policy")!: "no-referrer",
    HTTPField.Name("X-Frame-Options")!: "DENY",
    .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
  ]
}
#endif
