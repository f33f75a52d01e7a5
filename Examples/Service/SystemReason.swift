import Foundation

extension Error {
  /// What the system said, where Foundation wraps it in words of its own.
  package var systemReason: String {
    let wrapped = (self as? CocoaError)?.userInfo[NSUnderlyingErrorKey]
    return (wrapped as? POSIXError).map { String(cString: strerror($0.code.rawValue)) } ?? "\(self)"
  }
}
