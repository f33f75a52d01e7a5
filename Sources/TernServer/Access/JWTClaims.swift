#if JWTs
import Foundation
import TernCore

/// What a JSON Web Token has to say.
public struct JWTRules: Sendable {
  /// One of the token's `aud`: this server, as the issuer names it.
  public var audience: String
  /// Its `iss`; `nil` doesn't look.
  public var issuer: String?
  /// How long it may be good for at most: a stolen one is, if nobody notices.
  public var maximumAge = Duration.seconds(86_400)
  /// How far the issuer's clock may be from the server's.
  public var leeway = Duration.seconds(30)
  /// The claim that is an array of the spaces' names.
  public var spaces = "spaces"
  /// The claim that is `read` or `write`. Without it, a token may read.
  public var role = "role"

  public init(audience: String, issuer: String? = nil) {
    (self.audience, self.issuer) = (audience, issuer)
  }
}

/// A token's claims, as far as they matter (RFC 7519, section 4.1).
struct JWTClaims {
  let subject: String
  let id: String?
  let spaces: [String]
  let mayWrite: Bool
  let expires: Date

  private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// A claim of another type than it has to be is an error, also where it may be absent.
  private struct Payload: Decodable {
    let container: KeyedDecodingContainer<Name>

    init(from decoder: any Decoder) throws { container = try decoder.container(keyedBy: Name.self) }

    func claim<Value: Decodable>(_ name: String, _: Value.Type = Value.self) throws -> Value? {
      let name = Name(stringValue: name)
      return container.contains(name) ? try container.decode(Value.self, forKey: name) : nil
    }

    /// Seconds since 1970, which may have a fraction.
    func time(_ name: String) throws -> Date? {
      guard let seconds: Double = try claim(name) else { return nil }
      guard (0...Double(HybridTime.maximumMilliseconds / 1000)).contains(seconds) else {
        throw JWTClaims.refused("its \(name) is no time")
      }
      return Date(milliseconds: Int64(seconds * 1000))
    }

    func strings(_ name: String) throws -> [String] {
      // An audience may be one string (RFC 7519, section 4.1.3).
      if let one = try? container.decode(String.self, forKey: Name(stringValue: name)) {
        return [one]
      }
      return try claim(name) ?? []
    }
  }

  /// - Throws: ``RemoteError`` with `unauthorized`.
  init(_ bytes: Data, _ rules: JWTRules, _ clock: ServerClock) throws {
    let payload: Payload
    do {
      payload = try JSONDecoder().decode(Payload.self, from: bytes)
      guard let subject: String = try payload.claim("sub"), !subject.isEmpty else {
        throw Self.refused("it has no sub, which names its owner")
      }
      self.subject = subject
      id = try payload.claim("jti")
      spaces = try payload.strings(rules.spaces)
      mayWrite = try Self.mayWrite(payload.claim(rules.role), rules)
      guard try payload.strings("aud").contains(rules.audience) else {
        throw Self.refused("it is for another audience than \(rules.audience)")
      }
      if let issuer = rules.issuer, try payload.claim("iss", String.self) != issuer {
        throw Self.refused("it is by another issuer than \(issuer)")
      }
      expires = try Self.checkTimes(payload, rules, clock)
    } catch is DecodingError {
      throw Self.refused("its claims can't be read")
    }
  }

  private static func mayWrite(_ role: String?, _ rules: JWTRules) throws -> Bool {
    switch role {
    case "write": return true
    case "read", nil: return false
    default: throw refused("its \(rules.role) is neither read nor write")
    }
  }

  private static func checkTimes(
    _ payload: Payload, _ rules: JWTRules, _ clock: ServerClock
  ) throws -> Date {
    let (leeway, most) = (rules.leeway.milliseconds, rules.maximumAge.milliseconds)
    guard let expires = try payload.time("exp") else {
      throw refused("it has no exp, and must end some time")
    }
    guard clock.age(of: expires) < leeway else {
      throw refused("it expired at \(expires.ISO8601Format())")
    }
    if let start = try payload.time("nbf"), -clock.age(of: start) > leeway {
      throw refused("it begins at \(start.ISO8601Format())")
    }
    let issued = try payload.time("iat")
    if let issued, -clock.age(of: issued) > leeway {
      throw refused("it was issued at \(issued.ISO8601Format()), which is to come")
    }
    let age = issued.map { expires.milliseconds - $0.milliseconds } ?? -clock.age(of: expires)
    guard age <= most + (issued == nil ? leeway : 0) else {
      throw refused("it is good for longer than \(most / 1000) s")
    }
    return Date(milliseconds: expires.milliseconds + leeway)
  }

  static func refused(_ why: String) -> RemoteError {
    RemoteError(
      .unauthorized, "the JSON Web Token is refused: \(why); get a new one from its issuer")
  }
}
#endif
