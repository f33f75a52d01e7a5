import Foundation
import TernCore

extension RemoteError: LocalizedError {
  public var errorDescription: String? { description }
}

extension WireError: LocalizedError {
  public var errorDescription: String? { description }
}
