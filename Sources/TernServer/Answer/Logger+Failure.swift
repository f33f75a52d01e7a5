#if Server
import GRDB
import Logging

extension Logger {
  /// The kind of an error, and SQLite's or the store's own words, which hold no values; never what
  /// a client sent.
  func failure(_ message: Logger.Message, _ error: any Error) {
    var metadata: Logger.Metadata = ["error": "\(type(of: error))"]
    if let error = error as? DatabaseError {
      metadata["code"] = "\(error.extendedResultCode.rawValue)"
      metadata["message"] = "\(error.message ?? "")"
    }
    if let error = error as? StoreError { metadata["message"] = "\(error.message)" }
    #if PostgreSQL
    if let error = error as? PostgreSQLError { metadata["message"] = "\(error)" }
    #endif
    self.error(message, metadata: metadata)
  }
}

extension Error {
  /// Whether it is the disk that failed, or is full, so that asking again soon helps nobody.
  var isOfDisk: Bool {
    #if PostgreSQL
    if let error = self as? PostgreSQLError { return error.isOfDisk }
    #endif
    guard let error = self as? DatabaseError else { return false }
    return error.resultCode == .SQLITE_FULL || error.resultCode == .SQLITE_IOERR
  }
}
#endif
