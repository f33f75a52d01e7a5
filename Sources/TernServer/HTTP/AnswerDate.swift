#if Server
import Foundation
import Synchronization

/// The field `Date` of answers, made once a second.
///
/// - Source: RFC 9110, section 5.6.7.
final class AnswerDate: Sendable {
  private let last = Mutex((second: time_t.min, text: ""))

  /// Of this moment. An injected default: nobody decides by it.
  var text: String { text(at: time(nil)) }

  func text(at second: time_t) -> String {
    last.withLock { last in
      if last.second != second { last = (second, Self.text(of: second)) }
      return last.text
    }
  }

  private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func text(of second: time_t) -> String {
    var (second, parts) = (second, tm())
    gmtime_r(&second, &parts)
    func padded(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let time = [parts.tm_hour, parts.tm_min, parts.tm_sec].map(padded).joined(separator: ":")
    let (day, month) = (days[Int(parts.tm_wday)], months[Int(parts.tm_mon)])
    return "\(day), \(padded(parts.tm_mday)) \(month) \(parts.tm_year + 1900) \(time) GMT"
  }
}
#endif
