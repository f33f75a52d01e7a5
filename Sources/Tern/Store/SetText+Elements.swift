import TernCore
import TernDatabase

extension SetText {
  /// ``elements(of:in:)`` of a value that stands by itself.
  static func elements(of value: SQLiteValue, in connection: StoreConnection) throws
    -> [SQLiteValue]?
  {
    guard case .text(let bytes) = value else { return nil }
    return try bytes.withUnsafeBytes {
      try elements(of: WireValue(.text, content: $0), in: connection)
    }
  }

  /// The elements, repeated ones too; `nil` for what only a migration can have left there.
  static func elements(of text: WireValue, in connection: StoreConnection) throws -> [SQLiteValue]?
  {
    guard text.tag == .text else { return nil }
    let check = try connection.statement("SELECT \(isRefused("?1"))")
    check.bind(1, text)
    defer { check.reset() }
    guard try check.step(), check.int64(0) == 0 else { return nil }
    let each = try connection.statement("SELECT atom FROM json_each(?1)")
    each.bind(1, text)
    defer { each.reset() }
    var elements: [SQLiteValue] = []
    while try each.step() {
      guard let element = each.value(0).value.flatMap(ElementSet.element) else { return nil }
      elements.append(element)
    }
    return elements
  }
}
