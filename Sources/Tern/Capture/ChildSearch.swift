import TernCore
import TernDatabase

/// Looks, as a row's delete is sealed, for rows that refer to it still.
///
/// SQLite 3.40 leaves some itself: where INSERT OR REPLACE deletes what its own row refers to, and
/// where a column without a type holds the number 1 for the text '1'. A writer whose foreign keys
/// are off leaves them all.
struct ChildSearch {
  private let transaction: StoreTransaction
  private var byKey: [FastStatement] = []
  /// Those that refer by other columns or by what SQLite converts: all of them are looked at, once.
  private var loose: [(orphans: String, isConverted: Bool)] = []

  init(_ transaction: StoreTransaction, _ parent: TableShape) throws {
    self.transaction = transaction
    let name = parent.name.folded
    for sql in transaction.sql {
      for foreignKey in sql.shape.foreignKeys where foreignKey.parent.folded == name {
        if let children = sql.children(foreignKey, of: parent) {
          byKey.append(try transaction.statement(children))
        } else {
          loose.append((sql.orphans(foreignKey), transaction.sql.isConverted(foreignKey)))
        }
      }
    }
  }

  /// Whether rows refer to one that went, or that changed where a changed value may be what they
  /// refer to.
  mutating func isLeft(_ key: [UInt8], isGone: Bool) throws -> Bool {
    if isGone, !byKey.isEmpty {
      let values = try key.withUnsafeBytes { try PackedKey.values($0) }
      for children in byKey {
        for (index, value) in values.enumerated() { children.bind(Int32(index + 1), copy: value) }
        defer { children.reset() }
        if try children.step() { return true }
      }
    }
    var isAny = false
    loose = try loose.filter { search in
      guard isGone || search.isConverted else { return true }
      let orphans = try transaction.statement(search.orphans)
      defer { orphans.reset() }
      isAny = try orphans.step() || isAny
      return false
    }
    return isAny
  }
}
