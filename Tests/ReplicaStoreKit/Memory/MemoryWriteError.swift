import Tern

/// Why a local write to a ``MemoryReplicaStore`` was refused. Nothing of it was done.
package struct MemoryWriteError: Error, Hashable, Sendable {
  package struct Code: Hashable, Sendable {
    enum Reason: Sendable {
      case unknownTable, unknownColumn, missingKey, exists, notUnique, notANumber, notASet,
        notAText
    }
    let reason: Reason

    package static let unknownTable = Code(reason: .unknownTable)
    package static let unknownColumn = Code(reason: .unknownColumn)
    /// A key column has no value, or NULL.
    package static let missingKey = Code(reason: .missingKey)
    /// The inserted row's key is taken.
    package static let exists = Code(reason: .exists)
    /// Another row holds the same in columns that are unique together.
    package static let notUnique = Code(reason: .notUnique)
    /// A counter must hold a 64-bit whole number.
    package static let notANumber = Code(reason: .notANumber)
    /// A text that merges must hold valid UTF-8.
    package static let notAText = Code(reason: .notAText)
    /// A set must hold a JSON array of texts and numbers.
    package static let notASet = Code(reason: .notASet)
  }

  package let code: Code
  package let table: String
  package let column: String?

  init(_ code: Code, table: String, column: String? = nil) {
    self.code = code
    self.table = table
    self.column = column
  }
}

extension MemoryWriteError: CustomStringConvertible {
  package var description: String {
    let place = column.map { "column “\($0)” of table “\(table)”" } ?? "table “\(table)”"
    return "\(place): \(code.reason)"
  }
}
