#if Server
import ArgumentParser
import TernServer

/// How `serve` keeps what travels from others' eyes.
struct TLSOptions: ParsableArguments {
  @Option(
    help: "Speak TLS with this certificate, in PEM form. It is read again when the file changes.")
  var tlsCertificate: String?

  @Option(help: "The certificate's private key, in PEM form.")
  var tlsKey: String?

  @Flag(
    help: "Speak plain HTTP to other machines too, as to a proxy with TLS. Tokens are readable.")
  var plainHTTP = false

  func validate() throws {
    guard (tlsCertificate == nil) == (tlsKey == nil) else {
      throw ValidationError("--tls-certificate and --tls-key go together")
    }
    guard tlsCertificate == nil || !plainHTTP else {
      throw ValidationError("--plain-http and --tls-certificate exclude each other")
    }
  }

  /// - Throws: `ValidationError` for plain HTTP to other machines that nobody asked for.
  func files(host: String) throws -> TLSFiles? {
    if let tlsCertificate, let tlsKey { return TLSFiles(certificate: tlsCertificate, key: tlsKey) }
    guard Self.isLocal(host) || plainHTTP else {
      throw ValidationError(
        "on \(host) other machines reach the server, and over plain HTTP everybody between reads the "
          + "tokens; name --tls-certificate and --tls-key, or say --plain-http if a proxy with TLS "
          + "stands before it")
    }
    return nil
  }

  /// - Parameters:
  ///   - host: where operators are answered.
  ///   - tokens: the file of theirs; `nil` where nobody is one.
  /// - Throws: `ValidationError` for TLS without a certificate, and for operators' tokens that
  ///   would travel readable.
  func checkOperators(host: String, _ tokens: String?, usesTLS: Bool) throws {
    guard !usesTLS || tlsCertificate != nil else {
      throw ValidationError("--admin-tls is with the certificate of --tls-certificate")
    }
    guard tokens == nil || usesTLS || plainHTTP || Self.isLocal(host) else {
      throw ValidationError(
        "on --admin-host \(host) other machines reach the server, and over plain HTTP everybody "
          + "between reads the operators' tokens, which open everything; say --admin-tls, or "
          + "--plain-http if a proxy with TLS stands before it")
    }
  }

  private static func isLocal(_ host: String) -> Bool {
    host == "localhost" || host == "::1" || host.hasPrefix("127.")
  }
}
#endif
