/// What services write as one type or another: a confidence as a text, an ISBN as a number, authors
/// as a list.
package struct LooseText: Decodable {
  package private(set) var text: String?
  package private(set) var isNumber = false

  package init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    // To try is the only way to ask for the type.
    if let said = try? value.decode(String.self) {
      text = said
    } else if let number = try? value.decode(Int64.self) {
      (text, isNumber) = ("\(number)", true)
    } else if let number = try? value.decode(Double.self) {
      (text, isNumber) = ("\(number)", true)
    } else if let list = try? value.decode([LooseText].self) {
      text = list.compactMap(\.text).joined(separator: ", ")
    } else if let members = try? value.decode([String: LooseText].self) {
      text = members["name"]?.text
    }
  }
}
