/// A point in time as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT`.
///
/// The two obsolete formats are not read, and the name of the day is not compared with the date.
///
/// - Source: RFC 9110, section 5.6.7, IMF-fixdate.
public struct HTTPDate: Hashable, Sendable {
  public let secondsSince1970: Int64

  public init(secondsSince1970: Int64) {
    self.secondsSince1970 = secondsSince1970
  }

  public init?(_ text: String) {
    let bytes = Array(text.utf8)
    // Every field stands in its own column.
    guard bytes.count == 29, text.hasSuffix(" GMT"), bytes[3] == UInt8(ascii: ","),
      [4, 7, 11, 16].allSatisfy({ bytes[$0] == UInt8(ascii: " ") }),
      [19, 22].allSatisfy({ bytes[$0] == UInt8(ascii: ":") }),
      Self.days.contains(Self.text(bytes[0..<3])),
      let month = Self.months.firstIndex(of: Self.text(bytes[8..<11])),
      let day = Self.number(bytes[5..<7]), let year = Self.number(bytes[12..<16]),
      let hour = Self.number(bytes[17..<19]), let minute = Self.number(bytes[20..<22]),
      let second = Self.number(bytes[23..<25]),
      year >= 1970, (1...Self.length(ofMonth: month + 1, year: year)).contains(day),
      hour < 24, minute < 60, second <= 60  // 60 is a leap second
    else { return nil }
    let dayNumber = Self.daysSince1970(year: year, month: month + 1, day: day)
    secondsSince1970 = ((dayNumber * 24 + hour) * 60 + minute) * 60 + second
  }

  private static let days: Set = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes, as: UTF8.self)
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
    guard digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
      return nil
    }
    return Int64(text(digits))
  }

  private static func length(ofMonth month: Int, year: Int64) -> Int64 {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  private static func isLeap(_ year: Int64) -> Bool {
    year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
  }

  private static func daysSince1970(year: Int64, month: Int, day: Int64) -> Int64 {
    let before = year - 1
    // Leap days in every year up to the one before, less those before 1970.
    let leapDays = before / 4 - before / 100 + before / 400 - 477
    let ofMonths = (1..<month).reduce(0) { $0 + length(ofMonth: $1, year: year) }
    return (year - 1970) * 365 + leapDays + ofMonths + day - 1
  }
}
