#if Server
#if canImport(CryptoKit)
import CryptoKit
#else
import CCrypto
#endif

/// The SHA-256 of the bytes, 32 bytes: by OpenSSL on Linux, and by CryptoKit on Apple platforms,
/// where it is unverified. A package of cryptography would bring 395 files to compile
/// (Docs/Design/0036).
///
/// - Source: FIPS 180-4.
package func sha256(_ bytes: [UInt8]) -> [UInt8] {
  #if canImport(CryptoKit)
  return Array(SHA256.hash(data: bytes))
  #else
  return [UInt8](unsafeUninitializedCapacity: Int(SHA256_DIGEST_LENGTH)) { digest, count in
    SHA256(bytes, bytes.count, digest.baseAddress)
    count = Int(SHA256_DIGEST_LENGTH)
  }
  #endif
}
#endif
