/// Writes a text of comma-separated values, which ``CSVReader`` reads.
///
/// A spreadsheet takes a cell for a formula that begins with one of `= + - @`, a tab or a carriage
/// return: such a cell begins with an apostrophe, also where it is read again. What a terminal
/// would obey is written out, but for ends of lines and tabs.
///
/// - Source: RFC 4180; OWASP, "CSV Injection".
package enum CSVWriter {
  package static func text(_ records: [[String]]) -> String {
    records.map { $0.map { quoted(guarded($0)) }.joined(separator: ",") + "\r\n" }.joined()
  }

  private static func guarded(_ field: String) -> String {
    let shown = field.unicodeScalars.split(separator: "\r", omittingEmptySubsequences: false)
      .map { String($0).shown(keepsLines: true) }.joined(separator: "\r")
    return shown.first.map(begins) == true ? "'" + shown : shown
  }

  /// Whether a spreadsheet takes what begins so for a formula.
  static func begins(_ first: Character) -> Bool {
    first.unicodeScalars.first.map("=+-@\t\r".unicodeScalars.contains) == true
  }

  private static func quoted(_ field: String) -> String {
    guard field.unicodeScalars.contains(where: { ",\"\r\n".unicodeScalars.contains($0) }) else {
      return field
    }
    return "\""
      + field.split(separator: "\"", omittingEmptySubsequences: false)
      .joined(separator: "\"\"") + "\""
  }
}
