import Foundation

extension HTTPRequest {
  /// Words of the request that may be credentials, the longest first: those in header fields, but
  /// for the well-known ones that never hold any, the values in the URL's query, and what stands
  /// before an “@” in it: a password that is not escaped, maybe, of which a “/” makes a path.
  ///
  /// Words of less than 8 bytes are left out; hiding them would take ordinary text apart.
  var secrets: [String] {
    let fields = headers.fields.filter { !Self.harmless.contains($0.name.lowercased()) }
    let query = url.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
    let values = query.split(separator: "&").compactMap { pair in
      pair.split(separator: "=", maxSplits: 1).dropFirst().first.map(String.init)
    }
    let address = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
    let named = address.lastIndex(of: "@").map { address[..<$0] } ?? ""
    let sent = values + ([named] + named.split { "/:?#@".contains($0) }).map(String.init)
    let words =
      fields.flatMap { $0.value.split { " ,;=\"".contains($0) }.map(String.init) }
      + sent + sent.compactMap(\.removingPercentEncoding)
    return Set(words.filter { $0.utf8.count >= 8 }).sorted { $0.utf8.count > $1.utf8.count }
  }

  /// Fields that never hold credentials, in lower case.
  static let harmless: Set = [
    "accept", "accept-encoding", "accept-language", "cache-control", "content-type", "user-agent",
  ]
}
