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
    let isLocal = host == "localhost" || host == "::1" || host.hasPrefix("127.")
    guard isLocal || plainHTTP else {
      throw ValidationError(
        "on \(host) other machines reach the server, and over plain HTTP everybody between reads the "
          + "tokens; name --tls-certificate and --tls-key, or say --plain-http if a proxy with TLS "
          + "stands before it")
    }
    return nil
  }
}
#endif
