import TernCore
import TernDatabase

/// Sets as the app writes them: a JSON array, read by SQLite, which also accepted it.
enum SetText {
  /// SQL that is true for what no set column can hold.
  static func isRefused(_ value: String) -> String {
    """
    CASE WHEN typeof(\(value)) <> 'text' THEN 1 WHEN NOT json_valid(\(value)) THEN 1
    WHEN json_type(\(value)) <> 'array' THEN 1 WHEN instr(\(value), '\\u0000') THEN 1
    WHEN json_array_length(\(value)) > \(ElementSet.Limit.written) THEN 1
    ELSE EXISTS (SELECT 1 FROM json_each(\(value)) WHERE type NOT IN ('text', 'integer', 'real')
    OR typeof(atom) = 'real' AND abs(atom) > 1.7976931348623157e308) END
    """
  }

  /// ``elements(of:in:)-(WireValue,_)`` of a value that stands by itself.
  static func elements(of value: Value, in transaction: StoreTransaction) throws -> [Value]? {
    guard case .text(let bytes) = value else { return nil }
    return try bytes.withUnsafeBytes {
      try elements(of: WireValue(.text, content: $0), in: transaction)
    }
  }

  /// The elements, repeated ones too; `nil` for what only a migration can have left there.
  static func elements(of text: WireValue, in transaction: StoreTransaction) throws -> [Value]? {
    guard text.tag == .text else { return nil }
    let check = try transaction.statement("SELECT \(isRefused("?1"))")
    check.bind(1, text)
    defer { check.reset() }
    guard try check.step(), check.int64(0) == 0 else { return nil }
    let each = try transaction.statement("SELECT atom FROM json_each(?1)")
    each.bind(1, text)
    defer { each.reset() }
    var elements: [Value] = []
    while try each.step() {
      guard let element = each.value(0).value.flatMap(ElementSet.element) else { return nil }
      elements.append(element)
    }
    return elements
  }
}
