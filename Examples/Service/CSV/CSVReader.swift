/// Splits a text of comma-separated values into records that know their line. A byte order mark
/// before them is passed over.
///
/// - Source: RFC 4180.
package enum CSVReader {
  package struct Record {
    /// The line on which it begins, from 1.
    package var line: Int
    package var fields: [String]
  }

  /// - Throws: ``CatalogueError`` for a quote that never ends.
  package static func records(_ bytes: [UInt8]) throws(CatalogueError) -> [Record] {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let bytes = bytes.dropFirst(bytes.starts(with: mark) ? mark.count : 0)
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
    for (index, byte) in zip(bytes.indices, bytes) {
      if byte == UInt8(ascii: "\n") { line += 1 }
      switch byte {
      case UInt8(ascii: "\""):
        isQuoted.toggle()
        // A doubled quote closes and opens again, and stands for itself.
        if isQuoted, index > bytes.startIndex, bytes[index - 1] == byte { field.append(byte) }
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

  /// A field as it was before ``CSVWriter`` kept it from being a formula.
  package static func unguarded(_ field: String) -> String {
    let isGuarded = field.first == "'" && field.dropFirst().first.map(CSVWriter.begins) == true
    return isGuarded ? String(field.dropFirst()) : field
  }
}
