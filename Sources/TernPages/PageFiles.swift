#if Server
import NIOCore

/// The files of a page, by the path at which they are served. They hold nobody's data.
package struct PageFiles: Sendable {
  struct File: Sendable {
    let type: String
    let bytes: ByteBuffer
  }

  private(set) var files: [String: File] = [:]

  package init() {}

  /// - Parameters:
  ///   - name: empty for the page itself.
  ///   - type: a media type.
  package mutating func add(_ name: String, type: String, _ bytes: UnsafeRawBufferPointer) {
    files["/\(name)"] = File(type: type, bytes: ByteBuffer(bytes: bytes))
  }
}
#endif
