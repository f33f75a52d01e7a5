import ExamplePages
import Foundation

extension PageFiles {
  /// - Parameter file: what a C target embeds; `nil` behind the last one.
  package init(embedded file: (Int) -> Embedded?) {
    self.init()
    add(embedded: file)
  }

  /// A file of JSON among what a C target embeds; `nil` where it has no such file.
  package static func json<Value: Decodable>(
    _ type: Value.Type, named name: String, in file: (Int) -> Embedded?
  ) -> Value? {
    var index = 0
    while let embedded = file(index), String(cString: embedded.name) != name { index += 1 }
    let bytes = file(index).map { Data(bytes: $0.bytes, count: $0.count) }
    // What the program comes with is read by its tests.
    return bytes.flatMap { try? JSONDecoder().decode(type, from: $0) }
  }
}
