/// Refusals of tables and columns, which are thrown together.
struct SchemaRefusals {
  private var found: [SchemaError] = []
  var count: Int { found.count }

  /// - Returns: `nil` where it was refused.
  @discardableResult
  mutating func collect<T>(_ check: () throws -> T) throws -> T? {
    do {
      return try check()
    } catch let error as SchemaError {
      found.append(error)
      found += error.others
      found[found.count - 1 - error.others.count].others = []
      return nil
    }
  }

  /// - Throws: ``SchemaError``, the first, with the others.
  func finish() throws {
    guard var first = found.first else { return }
    first.others = Array(found.dropFirst())
    throw first
  }
}
