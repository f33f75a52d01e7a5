import TernCore
import TernDatabase

/// Sets as the app writes them: a JSON array, read by SQLite, which also accepted it.
enum SetText {
  /// SQL that is true for what no set column can hold, however long it is.
  ///
  /// - Parameter isCounted: whether it is true for a set too that no app may write.
  static func isRefused(_ value: String, isCounted: Bool = false) -> String {
    let count =
      isCounted ? "\nWHEN json_array_length(\(value)) > \(ElementSet.Limit.written) THEN 1" : ""
    return """
      CASE WHEN typeof(\(value)) <> 'text' THEN 1 WHEN NOT json_valid(\(value)) THEN 1
      WHEN json_type(\(value)) <> 'array' THEN 1 WHEN instr(\(value), '\\u0000') THEN 1\(count)
      ELSE EXISTS (SELECT 1 FROM json_each(\(value)) WHERE type NOT IN ('text', 'integer', 'real')
      OR typeof(atom) = 'real' AND abs(atom) > 1.7976931348623157e308) END
      """
  }

  /// SQL that is true for a set of more elements than one operation adds.
  static func isLongerThanAnOperation(_ value: String) -> String {
    "\(length(value)) > \(ElementSet.Limit.elements)"
  }

  /// SQL that is true for what can have more elements than an app may write, at the price of a look
  /// at its length: each takes a character, and one that parts it from the next.
  static func canExceedWritten(_ value: String) -> String {
    "length(\(value)) > \(2 * ElementSet.Limit.written + 2)"
  }

  /// SQL that is true for more elements than an app may write, and more than were there: what
  /// several devices added together stands, and can be written as it is or made smaller.
  static func exceedsWritten(_ value: String, over old: String) -> String {
    """
    CASE WHEN \(length(value)) > \(ElementSet.Limit.written)
    THEN \(length(value)) > \(length(old)) ELSE 0 END
    """
  }

  /// SQL of how many elements a value has; 0 for what is no set.
  private static func length(_ value: String) -> String {
    "CASE WHEN json_valid(\(value)) THEN json_array_length(\(value)) ELSE 0 END"
  }
}
