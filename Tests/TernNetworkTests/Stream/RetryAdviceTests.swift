import TernNetwork
import Testing

@Suite("When a server wants to be asked again")
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
    "dates that do not exist or are written otherwise are refused",
    arguments: [
      "Thu, 29 Feb 2100 00:00:00 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
      "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
      "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 00 Nov 1994 08:49:37 GMT",
      "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT", "",
    ])
  func refusedDates(text: String) {
    #expect(HTTPDate(text) == nil)
  }
}
