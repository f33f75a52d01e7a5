import Tern

/// Why a local write to a ``MemoryReplicaStore`` was refused. Nothing of it was done.
public struct MemoryWriteError: Error, Hashable, Sendable {
  public struct Code: Hashable, Sendable {
    enum Reason: Sendable {
      case unknownTable, unknownColumn, missingKey, exists, notUnique, notANumber, notASet,
        notAText
    }
    let reason: Reason

    public static let unknownTable = Code(reason: .unknownTable)
    public static let unknownColumn = Code(reason: .unknownColumn)
    /// A key column has no value, or NULL.
    public static let missingKey = Code(reason: .missingKey)
    /// The inserted row's key is taken.
    public static let exists = Code(reason: .exists)
    /// Another row holds the same in columns that are unique together.
    public static let notUnique = Code(reason: .notUnique)
    /// A counter must hold a 64-bit whole number.
    public static let notANumber = Code(reason: .notANumber)
    /// A text that merges must hold valid UTF-8.
    public static let notAText = Code(reason: .notAText)
    /// A set must hold a JSON array of texts and numbers.
    public static let notASet = Code(reason: .notASet)
  }

  public let code: Code
  public let table: String
  public let column: String?

  init(_ code: Code, table: String, column: String? = nil) {
    self.code = code
    self.table = table
    self.column = column
  }
}

extension MemoryWriteError: CustomStringConvertible {
  public var description: String {
    let place = column.map { "column “\($0)” of table “\(table)”" } ?? "table “\(table)”"
    return "\(place): \(code.reason)"
  }
}
