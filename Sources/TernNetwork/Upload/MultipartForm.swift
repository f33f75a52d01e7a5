/// A form of fields and files, as `multipart/form-data`.
///
/// ```swift
/// var form = MultipartForm()
/// form.add("title", "Dune")
/// form.add("photos[]", file: FileSegment(path), named: "shelf.jpg", type: "image/jpeg")
/// let request = HTTPRequest(.post, url, body: .form(form))
/// ```
///
/// Line breaks and quotes in names are percent-encoded and other characters sent as UTF-8, as
/// browsers do; values are sent byte for byte.
///
/// - Source: RFC 7578; WHATWG HTML, section 4.10.21.8, "Multipart form data".
public struct MultipartForm: Hashable, Sendable {
  public struct Part: Hashable, Sendable {
    public var name: String
    public var content: BodySegment
    /// What the server is told that the file is called. Only files have one.
    public var fileName: String?
    public var type: String?

    public init(
      name: String, content: BodySegment, fileName: String? = nil, type: String? = nil
    ) {
      self.name = name
      self.content = content
      self.fileName = fileName
      self.type = type
    }
  }

  public var parts: [Part] = []
  /// What stands between the parts: 1 to 70 letters, digits and `'+-._`.
  ///
  /// Contents are not searched for it. It must be something that none of them can hold: 128 random
  /// bits are.
  public let boundary: String

  /// - Parameter boundary: the same for the same form, where a test compares bytes.
  public init(boundary: String) {
    self.boundary = boundary
  }

  public init(using generator: inout some RandomNumberGenerator) {
    let words = (0..<4).map { _ in UInt32.random(in: .min ... .max, using: &generator) }
    boundary = "tern-" + words.map { String($0, radix: 36) }.joined(separator: "-")
  }

  public init() {
    // An injected default.
    var generator = SystemRandomNumberGenerator()
    self.init(using: &generator)
  }

  public mutating func add(_ name: String, _ value: String) {
    parts.append(Part(name: name, content: .text(value)))
  }

  public mutating func add(
    _ name: String, file: FileSegment, named fileName: String,
    type: String = "application/octet-stream"
  ) {
    parts.append(Part(name: name, content: .file(file), fileName: fileName, type: type))
  }
}

extension MultipartForm {
  /// The value of the request's `Content-Type`.
  public var contentType: String {
    // No boundary that is allowed here needs quotes, which some servers take for a part of it.
    "multipart/form-data; boundary=\(boundary)"
  }

  /// The form as it is sent.
  package var segments: [BodySegment] {
    parts.flatMap { [.text(head(of: $0)), $0.content, .text("\r\n")] } + [
      .text("--\(boundary)--\r\n")
    ]
  }

  private func head(of part: Part) -> String {
    var head = "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(escaped(part.name))\""
    if let fileName = part.fileName { head += "; filename=\"\(escaped(fileName))\"" }
    if let type = part.type { head += "\r\nContent-Type: \(type)" }
    return head + "\r\n\r\n"
  }

  /// By scalar: a carriage return and a line feed are one character of a string.
  private func escaped(_ name: String) -> String {
    name.unicodeScalars.reduce(into: "") { escaped, scalar in
      switch scalar {
      case "\"": escaped += "%22"
      case "\r": escaped += "%0D"
      case "\n": escaped += "%0A"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
  }

  /// - Throws: ``HTTPError`` with ``HTTPError/Code/invalidHeader``.
  func validate(_ origin: HTTPOrigin?) throws(HTTPError) {
    let isBoundary =
      (1...70).contains(boundary.utf8.count)
      && boundary.utf8.allSatisfy { Self.isAlphanumeric($0) || "'+-._".utf8.contains($0) }
    guard isBoundary else {
      throw HTTPError(.invalidHeader, origin: origin, "the form's boundary can't be one")
    }
    guard parts.allSatisfy({ HTTPHeaders.isFieldValue($0.type ?? "") }) else {
      throw HTTPError(.invalidHeader, origin: origin, "a part's type holds a control character")
    }
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"):
      true
    default: false
    }
  }
}
