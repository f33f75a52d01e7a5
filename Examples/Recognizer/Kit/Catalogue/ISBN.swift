/// An international standard book number. Its check digit is not looked at: a reader of barcodes
/// does that itself, and a catalogue's number is passed on as it stands there.
///
/// - Source: ISO 2108.
public struct ISBN: Hashable, Sendable {
  /// 10 or 13 digits, the last of ten may be an X.
  public let text: String

  /// Spreadsheets drop the zeros in front of a number, so they are put back.
  public init?(_ text: String) {
    var characters = text.uppercased().filter { $0 != "-" && $0 != " " }
    guard !characters.isEmpty, characters.dropLast().allSatisfy({ $0.isASCII && $0.isNumber }),
      let last = characters.last, last == "X" || (last.isASCII && last.isNumber)
    else { return nil }
    if characters.count < 10 {
      characters = String(repeating: "0", count: 10 - characters.count) + characters
    }
    switch characters.count {
    case 10: break
    case 13 where last != "X" && ["978", "979"].contains(characters.prefix(3)): break
    default: return nil
    }
    self.text = characters
  }

  /// The number as people and services write it, with any dashes and words between. Nothing is put
  /// to it: what has not 10 or 13 digits is none.
  public init?(digitsOf text: String) {
    let digits = text.uppercased().filter { "0123456789X".contains($0) }
    guard digits.count == 10 || (digits.count == 13 && digits.last != "X"),
      !digits.dropLast().contains("X")
    else { return nil }
    self.text = digits
  }

  /// The thirteen digits, whichever it was written in.
  public var thirteen: String {
    guard text.count == 10 else { return text }
    let digits = "978" + text.dropLast()
    let sum = Self.checksum(digits.compactMap(\.wholeNumberValue))
    return digits + String((10 - sum % 10) % 10)
  }

  private static func checksum(_ digits: [Int]) -> Int {
    digits.enumerated().reduce(0) { $0 + $1.element * ($1.offset % 2 == 0 ? 1 : 3) }
  }
}
