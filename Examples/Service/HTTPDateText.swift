import Foundation

/// - Source: RFC 9110, section 5.6.7, "Date/Time Formats".
package func httpDate(_ moment: Date) -> String {
  let formatter = DateFormatter()
  formatter.locale = Locale(identifier: "en_US_POSIX")
  formatter.timeZone = TimeZone(secondsFromGMT: 0)
  formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
  return formatter.string(from: moment)
}
