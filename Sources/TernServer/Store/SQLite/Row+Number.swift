#if Server
import Foundation
import GRDB

extension Row {
  /// The number in a column, looked at.
  ///
  /// - Throws: ``NumberOutOfRange``.
  func number(_ index: Int, _ number: StoredNumber, of table: String) throws -> Int64 {
    try number.checked(self[index], of: table)
  }

  func position(_ index: Int, of table: String) throws -> UInt64 {
    UInt64(try number(index, .position, of: table))
  }

  func time(_ index: Int, of table: String) throws -> Date {
    Date(milliseconds: try number(index, .time, of: table))
  }
}
#endif
