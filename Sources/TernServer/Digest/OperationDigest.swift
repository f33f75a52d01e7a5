#if Server
import TernCore

/// The SHA-256 of an operation's bytes: what the server keeps for ever to tell a repeat from
/// another operation under the same number.
public struct OperationDigest: Hashable, Sendable {
  /// 32 bytes.
  public let bytes: [UInt8]

  public init(_ operation: SyncOperation) {
    bytes = sha256(operation.bytes)
  }

  /// Of a snapshot that stands in the place of an operation.
  public init(base id: String) {
    bytes = sha256(Array(id.utf8))
  }

  /// The one whose ``bytes`` a store has kept.
  public init(stored bytes: [UInt8]) {
    self.bytes = bytes
  }
}

/// The SHA-256 over a space's operations up to a position: of the chain before and the operation's
/// digest. Two histories that agree at a position agree in everything before it too, which one
/// operation's own digest would not say.
public struct ChainDigest: Hashable, Sendable {
  /// 32 bytes.
  public let bytes: [UInt8]

  /// - Parameter previous: the chain of the position before; `nil` for the first.
  public init(after previous: ChainDigest?, _ digest: OperationDigest) {
    bytes = sha256((previous?.bytes ?? []) + digest.bytes)
  }

  /// The one whose ``bytes`` a store has kept.
  public init(stored bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// The first eight bytes in hexadecimal, which a cursor carries.
  var check: String { bytes.prefix(8).hexadecimal }
}

extension Collection<UInt8> {
  /// Two lower-case digits a byte.
  package var hexadecimal: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
#endif
