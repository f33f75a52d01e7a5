#if Server

/// The name of one making of a store.
package enum Epoch {
  /// 16 random bytes in hexadecimal.
  package static func draw(using generator: inout some RandomNumberGenerator) -> String {
    (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }.hexadecimal
  }
}
#endif
