#if Server
import Foundation
import HummingbirdTLS
import NIOSSL
import Synchronization

/// Where a server's certificate and key are. It reads them again when they change.
public struct TLSFiles: Hashable, Sendable {
  /// The server's certificate, and then those that lead from it to an authority's, in PEM form.
  public var certificate: String
  /// The certificate's private key, in PEM form and without a passphrase.
  public var key: String

  public init(certificate: String, key: String) {
    (self.certificate, self.key) = (certificate, key)
  }
}

/// Why a server can't show a certificate.
public struct TLSFilesError: Error, Hashable, Sendable {
  public let message: String
}

extension TLSFilesError: CustomStringConvertible {
  public var description: String { message }
}

extension TLSFilesError: LocalizedError {
  public var errorDescription: String? { description }
}

/// What new connections are shown. Those that are open keep what they have.
final class ServerCertificate: Sendable {
  private struct Pair {
    let chain: [NIOSSLCertificateSource]
    let key: NIOSSLPrivateKeySource
    /// Of both files.
    let bytes: [Data]
  }

  private let files: TLSFiles
  private let shown: Mutex<Pair>

  /// - Throws: ``TLSFilesError``.
  init(_ files: TLSFiles) throws {
    self.files = files
    let bytes = try Self.read(files)
    shown = Mutex(try Self.pair(bytes, files))
  }

  /// Each new connection asks for the newest pair.
  var configuration: TLSConfiguration {
    var configuration = Self.configuration(of: shown.withLock { $0 })
    configuration.sslContextCallback = { [self] _, promise in
      var override = NIOSSLContextConfigurationOverride()
      (override.certificateChain, override.privateKey) = shown.withLock { ($0.chain, $0.key) }
      promise.succeed(override)
    }
    return configuration
  }

  /// Reads the files again; where they changed and fit each other, new connections are shown those.
  ///
  /// - Throws: ``TLSFilesError``: the pair of before is shown as long as they are not put right.
  func reload() throws {
    let bytes = try Self.read(files)
    guard bytes != shown.withLock(\.bytes) else { return }
    let pair = try Self.pair(bytes, files)
    shown.withLock { $0 = pair }
  }

  private static func read(_ files: TLSFiles) throws -> [Data] {
    try [files.certificate, files.key].map { path in
      guard let data = FileManager.default.contents(atPath: path) else {
        throw TLSFilesError(
          message: "\(path) can't be read; check that it is there, and its rights")
      }
      return data
    }
  }

  private static func pair(_ bytes: [Data], _ files: TLSFiles) throws -> Pair {
    let chain: [NIOSSLCertificate]
    do {
      chain = try NIOSSLCertificate.fromPEMBytes(Array(bytes[0]))
    } catch {
      throw TLSFilesError(message: "\(files.certificate) has no certificate in PEM form")
    }
    let key: NIOSSLPrivateKey
    do {
      key = try NIOSSLPrivateKey(bytes: Array(bytes[1]), format: .pem)
    } catch {
      throw TLSFilesError(
        message: "\(files.key) has no private key in PEM form, or one with a passphrase")
    }
    let pair = Pair(
      chain: chain.map { .certificate($0) }, key: .privateKey(key), bytes: bytes)
    do {
      _ = try NIOSSLContext(configuration: configuration(of: pair))
    } catch {
      throw TLSFilesError(
        message: "the key in \(files.key) is not that of the certificate in \(files.certificate)")
    }
    return pair
  }

  private static func configuration(of pair: Pair) -> TLSConfiguration {
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: pair.chain, privateKey: pair.key)
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = ["http/1.1"]
    return configuration
  }
}
#endif
