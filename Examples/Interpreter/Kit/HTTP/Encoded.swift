import Foundation

/// JSON with sorted keys, so that the same answer has the same bytes.
func encoded(_ document: some Encodable) -> String {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  guard let data = try? encoder.encode(document) else {
    fatalError("a document of numbers and strings has a JSON form")
  }
  return String(decoding: data, as: UTF8.self)
}
