#if Server
import ArgumentParser
import Foundation
import TernCore
import TernServer

/// Until when a new token opens its space.
struct TokenExpiry: ParsableArguments {
  @Option(help: "How long it opens the space: a number and s, m, h, d or w, as 90d.")
  var expiresIn: TimeSpan?

  @Option(help: "When it expires: a date as 2030-01-31, which is its beginning, or a time, in UTC.")
  var expires: Moment?

  func validate() throws {
    guard expiresIn == nil || expires == nil else {
      throw ValidationError("say --expires-in or --expires, not both")
    }
  }

  /// `nil` is never.
  func date(_ clock: ServerClock) throws -> Date? {
    let date = expiresIn.map { clock.now.addingTimeInterval(TimeInterval($0.seconds)) }
    guard let date = date ?? expires?.date else { return nil }
    guard !clock.hasPassed(date) else {
      throw ValidationError("--expires has passed; name a time that is to come")
    }
    return date
  }
}

/// A length of time as a command line has it.
struct TimeSpan: ExpressibleByArgument, Equatable {
  let seconds: Int

  private static let units: [Character: Int] = [
    "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800,
  ]
  /// A hundred years: what is longer is a slip.
  private static let mostSeconds = 36_525 * 86_400

  init?(argument: String) {
    guard let unit = argument.last.flatMap({ Self.units[$0] }),
      let count = Int(argument.dropLast()), (0...Self.mostSeconds / unit).contains(count)
    else { return nil }
    seconds = count * unit
  }
}

/// A date or time of ISO 8601, in UTC where it names no zone.
struct Moment: ExpressibleByArgument, Equatable {
  let date: Date

  init?(argument: String) {
    let day = Date.ISO8601FormatStyle().year().month().day()
    let dayAndTime = Date.ISO8601FormatStyle()
    for (style, text) in [(dayAndTime, argument), (dayAndTime, argument + "Z"), (day, argument)] {
      // It may be of another form.
      guard let date = try? style.parse(text),
        (0...HybridTime.maximumMilliseconds).contains(date.milliseconds)
      else { continue }
      self.date = date
      return
    }
    return nil
  }
}

extension SpaceService {
  /// The token with an id, as 'tern token list' prints it.
  ///
  /// - Throws: `ValidationError` where there is none, or more than one.
  func token(named id: String) throws -> TokenRecord {
    do {
      return try asOperator.token(named: id)
    } catch let error as RemoteError {
      throw ValidationError(error.message)
    }
  }
}
#endif
