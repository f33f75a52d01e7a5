#if JWTs
import Foundation
import JWTKit

@testable import TernServer

/// Signs tokens of any content, as an identity provider does.
struct TestIssuer {
  let id: String
  private let key: ES256PrivateKey
  private let algorithm: any JWTAlgorithm

  init(_ id: String = "one") async throws {
    self.id = id
    key = ES256PrivateKey()
    let collection = await JWTKeyCollection().add(ecdsa: key)
    algorithm = try await collection.getKey()
  }

  /// Its public key, as a set lists it.
  var entry: [String: Any] {
    let (x, y) = key.parameters!
    return [
      "kty": "EC", "crv": "P-256", "kid": id, "x": Self.urlForm(x), "y": Self.urlForm(y),
    ]
  }

  /// In the form without padding.
  static func urlForm(_ text: String) -> String {
    text.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }

  static func set(_ issuers: [TestIssuer], _ more: [[String: Any]] = []) throws -> [UInt8] {
    Array(
      try JSONSerialization.data(withJSONObject: ["keys": more + issuers.map(\.entry)]))
  }

  static func encoded(_ object: [String: Any]) throws -> String {
    let data = try JSONSerialization.data(withJSONObject: object, options: .sortedKeys)
    return urlForm(data.base64EncodedString())
  }

  /// What a token is unless a test says otherwise, good for ten minutes.
  static func claims(at milliseconds: Int64) -> [String: Any] {
    let now = milliseconds / 1000
    return [
      "sub": "anna", "jti": "1", "aud": ["other", "tern"], "iss": "https://id.example.org",
      "iat": now, "nbf": now, "exp": now + 600, "spaces": ["home", "gone"], "role": "write",
    ]
  }

  func token(
    _ claims: [String: Any], header: [String: Any?] = [:], signs: ((String) -> String)? = nil
  ) throws -> String {
    var head: [String: Any] = ["alg": "ES256", "kid": id, "typ": "JWT"]
    for (name, value) in header { head[name] = value }
    let text = "\(try Self.encoded(head)).\(try Self.encoded(claims))"
    if let signs { return text + "." + signs(text) }
    let signature = Data(try algorithm.sign(Array(text.utf8)))
    return text + "." + Self.urlForm(signature.base64EncodedString())
  }
}
#endif
