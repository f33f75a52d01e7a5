#if Server && Rehearsal
import Foundation
import Tern
import TernNetwork
import TernTesting

/// What a service answers, and what that means to whoever asked: as it was drawn, and not as Tern
/// reads it.
struct SimulatedAnswer {
  var status = 200
  var headers: HTTPHeaders = [:]
  var body: [UInt8] = []
  /// `nil` where what was asked for is done.
  var meaning: FailureAdvice?

  var isDone: Bool { meaning == nil }
  /// As what carries uploads tells it.
  var asRead: TransferAnswer { .response(status: status, headers: headers, body: body) }

  static func number(_ number: Int) -> SimulatedAnswer {
    SimulatedAnswer(body: Array("\(number)".utf8))
  }

  /// Something is wrong with what was asked for.
  static func permanent(using generator: inout SeededGenerator) -> SimulatedAnswer {
    if generator.oneIn(4) { return problem(500, #"{"retryable": false}"#, .permanent) }
    let status = [400, 404, 409, 422].randomElement(using: &generator)!
    return SimulatedAnswer(status: status, meaning: .permanent)
  }

  /// Something is wrong with the service.
  static func failed(using generator: inout SeededGenerator) -> SimulatedAnswer {
    if generator.oneIn(4) { return problem(422, #"{"retryable": true}"#, .failed) }
    let status = [408, 500, 502, 504].randomElement(using: &generator)!
    return SimulatedAnswer(status: status, meaning: .failed)
  }

  /// The service wants no requests for a while.
  ///
  /// - Parameters:
  ///   - seconds: `nil` where it does not say for how long, or not so that anybody could know.
  ///   - now: by the service's clock, in seconds since 1970.
  static func later(
    _ seconds: Int?, now: Int, using generator: inout SeededGenerator
  ) -> SimulatedAnswer {
    let status = generator.oneIn(2) ? 429 : 503
    guard let seconds else {
      var answer = SimulatedAnswer(
        status: status, meaning: status == 429 ? .limited(delay: nil) : .failed)
      // A date, and none to compare it with.
      if generator.oneIn(3) { answer.headers["Retry-After"] = text(now + 30, .fixed) }
      return answer
    }
    let (inBody, longer) = (generator.oneIn(2), generator.oneIn(3))
    let type = "type.googleapis.com/google.rpc.RetryInfo"
    let members =
      generator.oneIn(2)
      ? #"{"retryAfterMs": \#(seconds * 1000)}"#
      : #"{"error": {"details": [{"@type": "\#(type)", "retryDelay": "\#(seconds)s"}]}}"#
    var answer = problem(status, inBody ? members : "{}", .limited(delay: .seconds(seconds)))
    // Of two the longer one counts.
    if inBody, !longer { return answer }
    let inHeader = inBody ? Int.random(in: 0...seconds, using: &generator) : seconds
    if let form = DateForm.allCases.randomElement(using: &generator), !generator.oneIn(3) {
      answer.headers["Date"] = text(now, .fixed)
      answer.headers["Retry-After"] = text(now + inHeader, form)
    } else {
      answer.headers["Retry-After"] = "\(inHeader)"
    }
    return answer
  }

  /// Who is asked now, where a request may be sent again as it is.
  static func redirect(to place: String, _ status: Int) -> SimulatedAnswer {
    SimulatedAnswer(status: status, headers: ["Location": place])
  }

  /// Somebody on the way answers for the service, which over TLS nobody can.
  static func portal(_ place: String, using generator: inout SeededGenerator) -> SimulatedAnswer {
    if generator.oneIn(2) {
      var answer = redirect(to: "https://portal.example\(place)", 302)
      answer.meaning = .failed
      return answer
    }
    return portalPage
  }

  static let portalPage = SimulatedAnswer(
    headers: ["Content-Type": "text/html"], body: Array("<p>Sign in</p>".utf8), meaning: .failed)

  private static func problem(
    _ status: Int, _ members: String, _ meaning: FailureAdvice
  ) -> SimulatedAnswer {
    SimulatedAnswer(
      status: status, headers: ["Content-Type": "application/problem+json"],
      body: Array(members.utf8), meaning: meaning)
  }

  // MARK: - Dates

  private enum DateForm: String, CaseIterable {
    case fixed = "%a, %d %b %Y %H:%M:%S GMT"
    case rfc850 = "%A, %d-%b-%y %H:%M:%S GMT"
    case asctime = "%a %b %e %H:%M:%S %Y"
  }

  /// By the C library, which knows nothing of how Tern reads it.
  private static func text(_ seconds: Int, _ form: DateForm) -> String {
    var (time, parts, buffer) = (time_t(seconds), tm(), [CChar](repeating: 0, count: 64))
    gmtime_r(&time, &parts)
    let count = strftime(&buffer, buffer.count, form.rawValue, &parts)
    return String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
#endif
