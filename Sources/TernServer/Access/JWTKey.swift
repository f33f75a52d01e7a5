#if JWTs
import Foundation
import JWTKit

/// A public key, with the one algorithm that it is for: whoever makes a token doesn't choose
/// (RFC 8725, section 3.1).
struct JWTKey: Sendable {
  let id: String?
  /// As a token's header names it.
  let algorithm: String
  private let verifier: any JWTAlgorithm

  /// RFC 7518, section 3.3.
  private static let leastModulusBytes = 256
  private static let ofCurves = ["P-256": "ES256", "P-384": "ES384", "P-521": "ES512"]

  /// The keys of a JWK Set (RFC 7517) that are there to verify with. Those of other kinds are left
  /// out, as section 5 says.
  ///
  /// - Throws: ``JWTKeyError`` for what is no set, or has no such key, or has a private one.
  static func all(in bytes: [UInt8]) async throws -> [JWTKey] {
    let document = try? JSONSerialization.jsonObject(with: Data(bytes))
    guard let set = document as? [String: Any], let entries = set["keys"] as? [[String: Any]] else {
      throw JWTKeyError("it is no JSON Web Key Set: an object with an array of keys")
    }
    var keys: [JWTKey] = []
    for entry in entries where entry["use"] as? String ?? "sig" == "sig" {
      guard entry["d"] == nil else {
        throw JWTKeyError("it has a private key; publish public ones, and make a new pair")
      }
      if let key = try await JWTKey(entry) { keys.append(key) }
    }
    guard !keys.isEmpty else {
      throw JWTKeyError(
        "it has no key to verify with: of ES256, ES384, ES512, EdDSA, or RSA from 2048 bits with 'alg'"
      )
    }
    let names = keys.map(\.id)
    guard Set(names).count == names.count, keys.count == 1 || !names.contains(nil) else {
      throw JWTKeyError("its keys need a 'kid' each, and no two the same")
    }
    return keys
  }

  private init?(_ entry: [String: Any]) async throws {
    // One of a kind that is not known, or damaged, is not there.
    guard let data = try? JSONSerialization.data(withJSONObject: entry),
      var key = try? JSONDecoder().decode(JWK.self, from: data),
      let algorithm = key.algorithm?.rawValue ?? Self.algorithm(of: key),
      Self.isLongEnough(key)
    else { return nil }
    id = key.keyIdentifier?.string
    let name = JWKIdentifier(string: id ?? "only")
    key.keyIdentifier = name
    let collection = JWTKeyCollection()
    // As above.
    guard (try? await collection.add(jwk: key)) != nil,
      let verifier = try? await collection.getKey(for: name, alg: algorithm),
      verifier.name == algorithm
    else { return nil }
    (self.algorithm, self.verifier) = (algorithm, verifier)
  }

  /// That of RSA is to be said.
  private static func algorithm(of key: JWK) -> String? {
    switch key.keyType {
    case .ecdsa: key.curve.flatMap { ofCurves[$0.rawValue] }
    case .octetKeyPair: "EdDSA"
    default: nil
    }
  }

  private static func isLongEnough(_ key: JWK) -> Bool {
    guard key.keyType == .rsa else { return true }
    return key.modulus.flatMap { Data(base64URL: $0) }?.count ?? 0 >= leastModulusBytes
  }

  func verifies(_ signature: Data, of bytes: [UInt8]) -> Bool {
    // What is no signature at all is a wrong one.
    (try? verifier.verify(signature, signs: bytes)) ?? false
  }
}

/// Why keys can't be taken.
public struct JWTKeyError: Error, Hashable, Sendable {
  public let message: String

  init(_ message: String) { self.message = message }
}

extension JWTKeyError: CustomStringConvertible {
  public var description: String { "the keys of JSON Web Tokens: \(message)" }
}

extension JWTKeyError: LocalizedError {
  public var errorDescription: String? { description }
}

extension Data {
  /// Without padding, and of nothing but its own characters (RFC 7515, section 2).
  init?(base64URL text: some StringProtocol) {
    guard
      text.utf8.allSatisfy({
        $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "=")
      })
    else { return nil }
    let usual = String(text).replacing("-", with: "+").replacing("_", with: "/")
    self.init(base64Encoded: usual + String(repeating: "=", count: (4 - usual.utf8.count % 4) % 4))
  }
}
#endif
