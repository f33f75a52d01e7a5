/// Writes a text of comma-separated values, which ``CSVReader`` reads.
///
/// - Source: RFC 4180.
package enum CSVWriter {
  package static func text(_ records: [[String]]) -> String {
    records.map { $0.map(quoted).joined(separator: ",") + "\r\n" }.joined()
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
