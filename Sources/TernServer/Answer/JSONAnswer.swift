#if Server
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

extension Response {
  init(json document: some Encodable, status: HTTPResponse.Status = .ok, type: String? = nil) {
    self.init(
      status: status, headers: [.contentType: type ?? "application/json"],
      body: .init(byteBuffer: .init(json: document)))
  }
}

extension ByteBuffer {
  init(json document: some Encodable) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(document) else {
      fatalError("a document of numbers and strings has a JSON form")
    }
    self.init(bytes: data)
  }
}
#endif
