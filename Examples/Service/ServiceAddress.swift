import Foundation

/// Where a service is, as a person writes it.
package enum ServiceAddress {
  /// - Returns: `nil` for what can't be one: it is of HTTP, without credentials, query and fragment.
  package static func url(_ text: String) -> URL? {
    guard let parts = URLComponents(string: text),
      ["http", "https"].contains(parts.scheme?.lowercased()), parts.host?.isEmpty == false,
      parts.user == nil, parts.password == nil, parts.query == nil, parts.fragment == nil
    else { return nil }
    return URL(string: text)
  }
}

extension ServiceAddress {
  /// Whether nobody on the way can read what goes there, or answer in its place.
  package static func isPrivate(_ url: URL) -> Bool {
    url.scheme?.lowercased() == "https"
      || ["127.0.0.1", "localhost", "::1", "[::1]"].contains(url.host ?? "")
  }
}
