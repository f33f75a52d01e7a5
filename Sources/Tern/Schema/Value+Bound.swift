import Foundation
import GRDB
import TernCore

extension Value {
  /// The value as GRDB binds it to ``mark``.
  var bound: DatabaseValue {
    switch self {
    case .null: .null
    case .integer(let number): number.databaseValue
    case .real(let number): number.databaseValue
    case .text(let bytes): string?.databaseValue ?? Data(bytes).databaseValue
    case .blob(let bytes): Data(bytes).databaseValue
    }
  }

  /// GRDB binds no text that is not valid UTF-8, which SQLite's values can be.
  var mark: String {
    if case .text = self, string == nil { "CAST(? AS TEXT)" } else { "?" }
  }
}
