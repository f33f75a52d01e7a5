import Foundation
import TernNetwork
import Testing

@Suite("Retry: when a server wants to be asked again")
struct RetryAdviceTests {
  @Test("seconds count from the answer", arguments: [("0", 0), ("120", 120)])
  func seconds(value: String, seconds: Int) {
    #expect(RetryAdvice(headers: ["retry-after": value])?.delay == .seconds(seconds))
  }

  @Test(
    "more seconds than fit are a long time", arguments: ["99999999999", "999999999999999999999"])
  func overflow(value: String) {
    #expect(RetryAdvice(headers: ["Retry-After": value])?.delay == RetryAdvice.longestDelay)
  }

  @Test("a date counts from the answer's own date, whatever the clock here says")
  func dates() {
    let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    let later: HTTPHeaders = ["Retry-After": "Mon, 07 Nov 1994 08:50:00 GMT", "Date": date]
    #expect(RetryAdvice(headers: later)?.delay == .seconds(86_423))
    let earlier: HTTPHeaders = ["Retry-After": "Sun, 06 Nov 1994 08:49:00 GMT", "Date": date]
    #expect(RetryAdvice(headers: earlier)?.delay == .zero)
    #expect(RetryAdvice(headers: ["Retry-After": date]) == nil)
  }

  @Test("what makes no sense is no advice", arguments: ["", "-1", "1.5", "soon", "+3"])
  func nonsense(value: String) {
    #expect(RetryAdvice(headers: ["Retry-After": value]) == nil)
  }

  @Test(
    "dates are seconds since 1970",
    arguments: [
      ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
      ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
      ("Thu, 01 Mar 2100 00:00:00 GMT", 4_107_542_400),
      ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
    ])
  func knownDates(text: String, seconds: Int64) {
    #expect(HTTPDate(text)?.secondsSince1970 == seconds)
  }

  @Test(
    "the same date in HTTP's three forms",
    arguments: [
      "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
      "Sun Nov  6 08:49:37 1994", "Sun Nov 06 08:49:37 1994",
    ])
  func threeForms(text: String) {
    #expect(HTTPDate(text)?.secondsSince1970 == 784_111_777)
    let later: HTTPHeaders = ["Retry-After": "Sun, 06 Nov 1994 08:50:00 GMT", "Date": text]
    #expect(RetryAdvice(headers: later)?.delay == .seconds(23))
    let earlier: HTTPHeaders = ["Date": "Sun, 06 Nov 1994 08:49:00 GMT", "Retry-After": text]
    #expect(RetryAdvice(headers: earlier)?.delay == .seconds(37))
  }

  @Test(
    "a year of two digits is the latest that is no more than 50 years ahead",
    arguments: [
      // To the second: 50 years are not more than 50 years.
      ("Tue, 21 Nov 2023 08:00:00 GMT", "Thursday, 21-Nov-73 08:00:00 GMT", 2073),
      ("Tue, 21 Nov 2023 08:00:00 GMT", "Wednesday, 21-Nov-73 08:00:01 GMT", 1973),
      ("Tue, 21 Nov 2023 08:00:00 GMT", "Saturday, 22-Nov-73 00:00:00 GMT", 1973),
      ("Tue, 21 Nov 2023 08:00:00 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", 1994),
      ("Tue, 21 Nov 2023 08:00:00 GMT", "Monday, 01-Jan-00 00:00:00 GMT", 2000),
      ("Sat, 31 Dec 2095 23:59:00 GMT", "Sunday, 01-Jan-96 00:01:00 GMT", 2096),
      ("Sat, 31 Dec 2095 23:59:00 GMT", "Sunday, 01-Jan-05 00:01:00 GMT", 2105),
      ("Sat, 31 Dec 2095 23:59:00 GMT", "Sunday, 01-Jan-46 00:01:00 GMT", 2046),
      ("Thu, 29 Feb 2024 12:00:00 GMT", "Thursday, 01-Mar-74 00:00:00 GMT", 1974),
      ("Thu, 29 Feb 2024 12:00:00 GMT", "Thursday, 28-Feb-74 00:00:00 GMT", 2074),
    ])
  func shortYears(now: String, text: String, year: Int) throws {
    let now = try #require(HTTPDate(now))
    let seconds = try #require(HTTPDate(text, now: now)).secondsSince1970
    let date = Date(timeIntervalSince1970: Double(seconds))
    #expect(Calendar.utc.component(.year, from: date) == year)
    let advice = RetryAdvice(headers: ["Retry-After": text, "Date": Self.fixed(now)])
    #expect(advice == RetryAdvice(delay: .seconds(seconds - now.secondsSince1970)))
  }

  @Test("without an own date a year of two digits is one from 1970 to 2069")
  func shortYearAlone() {
    #expect(HTTPDate("Thursday, 01-Jan-70 00:00:00 GMT")?.secondsSince1970 == 0)
    #expect(HTTPDate("Tuesday, 31-Dec-69 23:59:59 GMT")?.secondsSince1970 == 3_155_759_999)
  }

  private static func fixed(_ date: HTTPDate) -> String {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    return formatter.string(from: Date(timeIntervalSince1970: Double(date.secondsSince1970)))
  }

  @Test(
    "dates that do not exist or are written otherwise are refused",
    arguments: [
      "Thu, 29 Feb 2100 00:00:00 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
      "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06 Nov 1994 08:49:37 GMT",
      "Sunday, 06-Nov-1994 08:49:37 GMT", "Sunday, 6-Nov-94 08:49:37 GMT",
      "Sunday, 29-Feb-01 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37",
      "Sun Nov 6 08:49:37 1994", "Sun Nov   08:49:37 1994", "Sun Nov  0 08:49:37 1994",
      "Sun Nov  6 08:49:37 94", "Sun Nov  6 08:49:37 1994 GMT", "Sun Nov  6 08:49:37 1969",
      ", 06-Nov-94 08:49:37 GMT", ",", "Sunday,",
      "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 00 Nov 1994 08:49:37 GMT",
      "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT", "",
    ])
  func refusedDates(text: String) {
    #expect(HTTPDate(text) == nil)
  }
}

extension Calendar {
  fileprivate static var utc: Calendar {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = TimeZone(secondsFromGMT: 0)!
    return calendar
  }
}
