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
}
#endif
