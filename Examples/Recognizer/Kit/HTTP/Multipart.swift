/// Takes a form with files apart.
///
/// - Source: RFC 7578, "Returning Values from Forms: multipart/form-data"; RFC 2046, section 5.1.
enum Multipart {
  struct Part: Hashable {
    var name: String
    var content: ArraySlice<UInt8>
  }

  /// Headers of one part, in bytes.
  static let headLimit = 4096

  /// The boundary of a `Content-Type`; `nil` when it is no form.
  static func boundary(_ contentType: String?) -> String? {
    guard let contentType else { return nil }
    let parts = contentType.split(separator: ";")
    guard parts.first?.trimmed.lowercased() == "multipart/form-data" else { return nil }
    for part in parts.dropFirst() {
      let text = part.trimmed
      guard text.lowercased().hasPrefix("boundary=") else { continue }
      let value = text.dropFirst("boundary=".count).filter { $0 != "\"" }
      return (1...70).contains(value.utf8.count) ? value : nil
    }
    return nil
  }

  /// At most `limit` parts.
  ///
  /// - Throws: ``Problem`` when the body is not what its boundary says.
  static func parts(of body: [UInt8], boundary: String, limit: Int) throws(Problem) -> [Part] {
    let delimiter = Array("\r\n--\(boundary)".utf8)
    var parts: [Part] = []
    // The first delimiter has no line before it.
    guard var position = end(of: delimiter.dropFirst(2), in: body[...]) else {
      throw malformed("its boundary is not in it")
    }
    while true {
      if body[position...].starts(with: "--".utf8) { return parts }
      guard parts.count < limit else { throw malformed("it has more than \(limit) parts") }
      guard let start = end(of: Array("\r\n".utf8)[...], in: body[position...].prefix(64)),
        let content = end(
          of: Array("\r\n\r\n".utf8)[...], in: body[(start - 2)...].prefix(headLimit))
      else { throw malformed("a part has no headers") }
      guard let next = end(of: delimiter[...], in: body[content...]) else {
        throw malformed("it ends before its last boundary")
      }
      guard let name = name(body[start..<content]) else { throw malformed("a part has no name") }
      parts.append(Part(name: name, content: body[content..<(next - delimiter.count)]))
      position = next
    }
  }

  /// The field's name in `Content-Disposition`.
  private static func name(_ head: ArraySlice<UInt8>) -> String? {
    for line in String(decoding: head, as: UTF8.self).split(whereSeparator: \.isNewline)
    where line.lowercased().hasPrefix("content-disposition:") {
      for part in line.split(separator: ";").dropFirst() where part.trimmed.hasPrefix("name=") {
        return part.trimmed.dropFirst("name=".count).filter { $0 != "\"" }
      }
    }
    return nil
  }

  private static func malformed(_ reason: String) -> Problem {
    Problem(400, "MALFORMED_FORM", "the form can't be read: \(reason)")
  }

  /// Just after the first place of `wanted`.
  private static func end(
    of wanted: ArraySlice<UInt8>, in bytes: ArraySlice<UInt8>
  ) -> Int? {
    guard let first = wanted.first, bytes.count >= wanted.count else { return nil }
    return bytes.withUnsafeBufferPointer { bytes -> Int? in
      let last = bytes.count - wanted.count
      return wanted.withUnsafeBufferPointer { wanted in
        var index = 0
        while index <= last {
          if bytes[index] == first,
            (1..<wanted.count).allSatisfy({ bytes[index + $0] == wanted[$0] })
          {
            return index + wanted.count
          }
          index += 1
        }
        return nil
      }
    }.map { bytes.startIndex + $0 }
  }
}

extension Substring {
  fileprivate var trimmed: String {
    String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }
}
