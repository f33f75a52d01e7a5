extension HTTPRequest {
  /// Refuses what can't be sent as it stands, before anything is sent.
  ///
  /// - Throws: ``HTTPError`` with ``HTTPError/Code/invalidURL`` or
  ///   ``HTTPError/Code/invalidHeader``.
  package func validated() throws(HTTPError) -> HTTPOrigin {
    let origin = try HTTPOrigin(of: url)
    guard Self.isToken(method.rawValue) else {
      throw HTTPError(.invalidHeader, origin: origin, "the method is not an HTTP token")
    }
    for field in headers.fields {
      guard Self.isToken(field.name) else {
        throw HTTPError(.invalidHeader, origin: origin, "a field name is not an HTTP token")
      }
      guard !Self.reserved.contains(field.name.lowercased()) else {
        throw HTTPError(.invalidHeader, origin: origin, "\(field.name) is the transport's own")
      }
      // A line break in a value would begin a field, or a request, that nobody wrote.
      guard HTTPHeaders.isFieldValue(field.value) else {
        throw HTTPError(.invalidHeader, origin: origin, "\(field.name) holds a control character")
      }
    }
    if case .bytes(_, let type?) = body, !HTTPHeaders.isFieldValue(type) {
      throw HTTPError(.invalidHeader, origin: origin, "the body's type holds a control character")
    }
    if case .form(let form) = body {
      try form.validate(origin)
      guard headers["Content-Type"] == nil else {
        throw HTTPError(.invalidHeader, origin: origin, "Content-Type is the form's own")
      }
    }
    return origin
  }

  /// The header fields that are sent, but for those that are the transport's own.
  var sentHeaders: HTTPHeaders {
    var headers = headers
    switch body {
    case .form(let form): headers["Content-Type"] = form.contentType
    case .bytes(_, let type?) where headers["Content-Type"] == nil: headers["Content-Type"] = type
    default: break
    }
    return headers
  }

  private static let reserved: Set = ["content-length", "transfer-encoding", "host", "expect"]

  /// - Source: RFC 9110, section 5.6.2.
  private static func isToken(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "a")...UInt8(ascii: "z"):
          true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
      }
  }
}

extension HTTPRequest.Body {
  /// `nil` for a request that has no body, which is not the same as an empty one.
  var segments: [BodySegment]? {
    switch self {
    case .empty: nil
    case .bytes(let bytes, _): [.bytes(bytes)]
    case .segments(let segments): segments
    case .form(let form): form.segments
    }
  }
}
