/// A point in time as HTTP writes it, in any of its three forms:
///
/// ```text
/// Sun, 06 Nov 1994 08:49:37 GMT     IMF-fixdate, the one that is written today
/// Sunday, 06-Nov-94 08:49:37 GMT    RFC 850
/// Sun Nov  6 08:49:37 1994          asctime
/// ```
///
/// The name of the day is not compared with the date. Dates before 1970 are none.
///
/// - Source: RFC 9110, section 5.6.7.
public struct HTTPDate: Hashable, Sendable {
  public let secondsSince1970: Int64

  public init(secondsSince1970: Int64) {
    self.secondsSince1970 = secondsSince1970
  }

  /// - Parameter now: what the two digits of an RFC 850 year are read by: the latest year with
  ///   them that is no more than 50 years ahead of it. Without it, a year from 1970 to 2069.
  public init?(_ text: String, now: HTTPDate? = nil) {
    // Every field stands in its own column, in RFC 850 after the comma.
    let bytes = Array(text.utf8)
    let fields: DateFields?
    if let comma = bytes.firstIndex(of: UInt8(ascii: ",")) {
      fields = comma == 3 ? DateFields(fixed: bytes) : DateFields(rfc850: bytes, comma)
    } else {
      fields = DateFields(asctime: bytes)
    }
    guard var fields else { return nil }
    if fields.hasShortYear { fields.setCentury(now) }
    guard fields.isDate else { return nil }
    secondsSince1970 = fields.secondsSince1970
  }
}

private struct DateFields {
  var year: Int64
  /// From 1.
  var month: Int64
  var day: Int64
  var hour: Int64
  var minute: Int64
  /// 60 is a leap second.
  var second: Int64
  /// The year is from 0 to 99, of some century.
  var hasShortYear = false

  private init(
    year: Int64, month: Int64, day: Int64, hour: Int64, minute: Int64, second: Int64
  ) {
    (self.year, self.month, self.day) = (year, month, day)
    (self.hour, self.minute, self.second) = (hour, minute, second)
  }

  // MARK: - Reading

  /// `Sun, 06 Nov 1994 08:49:37 GMT`
  init?(fixed bytes: [UInt8]) {
    guard bytes.count == 29, Self.days.contains(Self.text(bytes[0..<3])),
      Self.text(bytes[3..<5]) == ", ", bytes[7] == Self.space, bytes[11] == Self.space,
      bytes[16] == Self.space, Self.text(bytes[25...]) == " GMT"
    else { return nil }
    self.init(
      year: bytes[12..<16], month: bytes[8..<11], day: bytes[5..<7], time: bytes[17..<25])
  }

  /// `Sunday, 06-Nov-94 08:49:37 GMT`
  init?(rfc850 bytes: [UInt8], _ comma: Int) {
    let rest = Array(bytes[comma...])
    guard rest.count == 24, Self.longDays.contains(Self.text(bytes[..<comma])),
      Self.text(rest[0..<2]) == ", ", rest[4] == Self.dash, rest[8] == Self.dash,
      rest[11] == Self.space, Self.text(rest[20...]) == " GMT"
    else { return nil }
    self.init(year: rest[9..<11], month: rest[5..<8], day: rest[2..<4], time: rest[12..<20])
    hasShortYear = true
  }

  /// `Sun Nov  6 08:49:37 1994`
  init?(asctime bytes: [UInt8]) {
    guard bytes.count == 24, Self.days.contains(Self.text(bytes[0..<3])), bytes[3] == Self.space,
      bytes[7] == Self.space, bytes[10] == Self.space, bytes[19] == Self.space
    else { return nil }
    let day = bytes[8] == Self.space ? bytes[9..<10] : bytes[8..<10]
    self.init(year: bytes[20..<24], month: bytes[4..<7], day: day, time: bytes[11..<19])
  }

  private init?(
    year: ArraySlice<UInt8>, month: ArraySlice<UInt8>, day: ArraySlice<UInt8>,
    time: ArraySlice<UInt8>
  ) {
    let time = Array(time)
    guard let year = Self.number(year), let month = Self.months.firstIndex(of: Self.text(month)),
      let day = Self.number(day), let hour = Self.number(time[0..<2]),
      let minute = Self.number(time[3..<5]), let second = Self.number(time[6..<8]),
      time[2] == Self.colon, time[5] == Self.colon
    else { return nil }
    self.init(
      year: year, month: Int64(month + 1), day: day, hour: hour, minute: minute, second: second)
  }

  private static let days: Set = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
  private static let longDays: Set = [
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
  ]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
  private static let (space, dash, colon) = (
    UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: ":")
  )

  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes, as: UTF8.self)
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
    guard digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
      return nil
    }
    return Int64(text(digits))
  }

  // MARK: - The calendar

  /// Whether there ever was such a date, from 1970 on.
  var isDate: Bool {
    year >= 1970 && (1...Self.length(ofMonth: month, year: year)).contains(day)
      && hour < 24 && minute < 60 && second <= 60
  }

  var secondsSince1970: Int64 {
    let before = year - 1
    // Leap days in every year up to the one before, less those before 1970.
    let leapDays = before / 4 - before / 100 + before / 400 - 477
    let ofMonths = (1..<month).reduce(0) { $0 + Self.length(ofMonth: $1, year: year) }
    let dayNumber = (year - 1970) * 365 + leapDays + ofMonths + day - 1
    return dayNumber * 86_400 + (hour * 60 + minute) * 60 + second
  }

  /// Makes two digits the latest year with them that is no more than 50 years after `now`.
  mutating func setCentury(_ now: HTTPDate?) {
    year += year < 70 ? 2000 : 1900
    guard let now else { return }
    while year < 9900, isWithin50Years(of: now, addingYears: 100) { year += 100 }
    if !isWithin50Years(of: now, addingYears: 0) { year -= 100 }
  }

  private func isWithin50Years(of now: HTTPDate, addingYears count: Int64) -> Bool {
    var earlier = self
    earlier.year += count - 50
    return earlier.secondsSince1970 <= now.secondsSince1970
  }

  private static func length(ofMonth month: Int64, year: Int64) -> Int64 {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  private static func isLeap(_ year: Int64) -> Bool {
    year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
  }
}
