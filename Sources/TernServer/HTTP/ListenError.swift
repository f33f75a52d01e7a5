#if Server
import Foundation

/// Why a server could not begin to listen.
public struct ListenError: Error, Hashable, Sendable {
  public let host: String
  public let port: Int
  /// What the system said.
  public let reason: String
  /// What the options that choose another address begin with.
  let options: String
}

extension ListenError: CustomStringConvertible {
  public var description: String {
    "can't listen on \(host):\(port): \(reason); choose another \(options)host or \(options)port"
  }
}

extension ListenError: LocalizedError {
  public var errorDescription: String? { description }
}
#endif
