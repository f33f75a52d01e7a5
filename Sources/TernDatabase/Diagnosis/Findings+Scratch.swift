import GRDB
import TernCore

extension Findings {
  /// Makes a look that keeps what it reads in a temporary file. Where the disk has no room for
  /// that, it tells that there was no such look, and what follows is looked at.
  ///
  /// A file that is only read gives none of these errors.
  package func withTemporaryFile(for check: DiagnosisCheck, _ look: () throws -> Void) throws {
    do {
      try look()
    } catch let error as DatabaseError
      where [.SQLITE_FULL, .SQLITE_CANTOPEN].contains(error.resultCode)
      || error.extendedResultCode == .SQLITE_IOERR_WRITE
    {
      try add(
        .temporaryFull,
        "\(check.rawValue) was not looked at, as SQLite says: "
          + "\(error.message ?? "\(error.resultCode)")")
    }
  }
}
