#if Server
import HTTPTypes
import Hummingbird

extension Request {
  /// What it is to be let in by; `nil` where it names nothing of the kind.
  ///
  /// - Source: RFC 6750, section 2.1; the scheme's name is in any case (RFC 9110, section 11.1).
  var bearerToken: String? {
    guard let authorization = headers[.authorization] else { return nil }
    let parts = authorization.split(separator: " ")
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
    return String(parts[1])
  }
}
#endif
