#if Server
import Foundation

/// Why a server could not begin to listen.
public struct ListenError: Error, Hashable, Sendable {
  public let host: String
  public let port: Int
  /// What the system said.
  public let reason: String
}

extension ListenError: CustomStringConvertible {
  public var description: String {
    "can't listen on \(host):\(port): \(reason); choose another --host or --port"
  }
}

extension ListenError: LocalizedError {
  public var errorDescription: String? { description }
}
#endif
