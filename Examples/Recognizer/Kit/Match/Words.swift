import Foundation

/// The words of a text as they are compared: lower case, no accents, letters and digits alone.
func words(of text: String) -> [String] {
  // Letters of their own, which folding leaves alone.
  let others = ["&": " and ", "ł": "l", "Ł": "l", "ø": "o", "Ø": "o", "ß": "ss", "æ": "ae"]
  let plain = others.reduce(text) { $0.replacingOccurrences(of: $1.key, with: $1.value) }
    .folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil).lowercased()
    .filter { $0 != "'" && $0 != "\u{2019}" }
  return plain.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }.map(String.init)
}

/// How many letters have to be put in, taken out or replaced to make one word of the other. A
/// letter that is taken for one of its own shape counts less than half.
///
/// - Source: Wagner and Fischer, "The String-to-String Correction Problem", 1974.
func readingDistance(_ left: [UInt8], _ right: [UInt8]) -> Double {
  guard !left.isEmpty, !right.isEmpty else { return Double(max(left.count, right.count)) }
  var row = (0...right.count).map(Double.init)
  for (i, letter) in left.enumerated() {
    var diagonal = row[0]
    row[0] = Double(i + 1)
    for (j, other) in right.enumerated() {
      let cost = letter == other ? 0 : shapes[Int(letter)] & shapes[Int(other)] != 0 ? 0.4 : 1
      let replaced = diagonal + cost
      diagonal = row[j + 1]
      row[j + 1] = min(replaced, diagonal + 1, row[j] + 1)
    }
  }
  return row[right.count]
}

/// For each byte, the groups of letters of one shape that it is in, as bits.
private let shapes: [UInt8] = {
  var shapes = [UInt8](repeating: 0, count: 256)
  let groups = ["il1tjf", "aceo0q", "uvyw", "hnmrb", "s5z2", "b8g9", "dob0", "pfr"]
  for (group, letters) in groups.enumerated() {
    for letter in letters.utf8 { shapes[Int(letter)] |= 1 << group }
  }
  return shapes
}()
