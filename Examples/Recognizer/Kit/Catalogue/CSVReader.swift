/// Splits a text of comma-separated values into records that know their line.
///
/// - Source: RFC 4180.
enum CSVReader {
  struct Record {
    /// The line on which it begins, from 1.
    var line: Int
    var fields: [String]
  }

  /// - Throws: ``CatalogueError`` for a quote that never ends.
  static func records(_ bytes: [UInt8]) throws(CatalogueError) -> [Record] {
    var records: [Record] = []
    var record = Record(line: 1, fields: [])
    var field: [UInt8] = []
    var (line, isQuoted) = (1, false)
    func endField() {
      record.fields.append(String(decoding: field, as: UTF8.self))
      field.removeAll(keepingCapacity: true)
    }
    func endRecord() {
      endField()
      if record.fields != [""] { records.append(record) }
      record = Record(line: line, fields: [])
    }
    for (index, byte) in bytes.enumerated() {
      if byte == UInt8(ascii: "\n") { line += 1 }
      switch byte {
      case UInt8(ascii: "\""):
        isQuoted.toggle()
        // A doubled quote closes and opens again, and stands for itself.
        if isQuoted, index > 0, bytes[index - 1] == byte { field.append(byte) }
      case UInt8(ascii: ",") where !isQuoted: endField()
      case UInt8(ascii: "\r") where !isQuoted: break
      case UInt8(ascii: "\n") where !isQuoted: endRecord()
      default: field.append(byte)
      }
    }
    guard !isQuoted else {
      throw CatalogueError(line: record.line, reason: "a quote opens here and is never closed")
    }
    if !field.isEmpty || !record.fields.isEmpty { endRecord() }
    return records
  }
}
