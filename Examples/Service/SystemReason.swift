import Foundation

extension Error {
  /// What the system said, where Foundation wraps it in words of its own.
  package var systemReason: String {
    guard let error = self as? CocoaError else { return "\(self)" }
    if let wrapped = error.userInfo[NSUnderlyingErrorKey] as? POSIXError {
      return String(cString: strerror(wrapped.code.rawValue))
    }
    // Without one there is Foundation's number alone.
    let code: CInt? =
      switch error.code {
      case .fileWriteOutOfSpace: ENOSPC
      case .fileWriteNoPermission, .fileReadNoPermission: EACCES
      case .fileNoSuchFile, .fileReadNoSuchFile: ENOENT
      case .fileWriteVolumeReadOnly: EROFS
      default: nil
      }
    return code.map { String(cString: strerror($0)) } ?? error.localizedDescription
  }
}
