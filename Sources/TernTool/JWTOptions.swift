#if JWTs
import ArgumentParser
import Foundation
import TernServer

/// Whose JSON Web Tokens `serve` takes, beside its own tokens.
struct JWTOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Take JSON Web Tokens that these keys sign: a JSON Web Key Set, by its file or https URL.",
      valueName: "file-or-url"))
  var jwtKeys: String?

  @Option(help: "What a token's 'aud' has to have: this server, as the issuer names it.")
  var jwtAudience: String?

  @Option(help: "What a token's 'iss' has to be. Without it, that is not looked at.")
  var jwtIssuer: String?

  @Option(help: "How long a token may be good for at most: a number and s, m, h, d or w; else 1d.")
  var jwtMaximumAge: TimeSpan?

  @Option(help: "The claim that names the spaces of a token.")
  var jwtSpacesClaim = "spaces"

  @Option(help: "The claim that is 'read' or 'write'.")
  var jwtRoleClaim = "role"

  @Option(
    help: "A file with a line 'jti ID' or 'sub NAME' for each that is denied. It is read again.")
  var jwtDenied: String?

  func validate() throws {
    guard (jwtKeys == nil) == (jwtAudience == nil) else {
      throw ValidationError("--jwt-keys and --jwt-audience go together")
    }
    guard jwtKeys != nil || (jwtIssuer == nil && jwtDenied == nil && jwtMaximumAge == nil) else {
      throw ValidationError("name the keys with --jwt-keys")
    }
  }

  /// `nil` where only the server's own tokens are taken.
  func authorizer(_ service: SpaceService) async throws -> (any Authorizer)? {
    guard let jwtKeys, let jwtAudience else { return nil }
    var rules = JWTRules(audience: jwtAudience, issuer: jwtIssuer)
    (rules.spaces, rules.role) = (jwtSpacesClaim, jwtRoleClaim)
    if let jwtMaximumAge { rules.maximumAge = .seconds(jwtMaximumAge.seconds) }
    return try await JWTAuthorizer(
      keys: Self.source(jwtKeys), rules: rules, denied: jwtDenied, service: service)
  }

  private static func source(_ keys: String) throws -> JWTKeySource {
    guard keys.contains("://") else { return .file(keys) }
    guard let url = URL(string: keys) else {
      throw ValidationError("--jwt-keys can't be read as a URL")
    }
    return try .url(url)
  }
}
#endif
