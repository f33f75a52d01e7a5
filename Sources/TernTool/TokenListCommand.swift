#if Server
import ArgumentParser
import Foundation
import TernCore
import TernServer

struct TokenListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: """
      Print a line for every token: its id, when it was made, its space, whose it is, its label, \
      until when it opens the space.
      """,
    discussion: "The id is taken from the token's digest; the token itself is kept nowhere.")

  @OptionGroup var options: DataOptions

  func run() async throws {
    try withVisitingService(options) { service in
      for token in try service.store.tokens() {
        print(Self.line(token, service.clock))
      }
    }
  }

  private static func line(_ token: TokenRecord, _ clock: ServerClock) -> String {
    var words = ["\(token.digest)", text(token.created), "\(token.space)"]
    if let member = token.member { words.append("\(member)") }
    if let label = token.label { words.append("\"\(label)\"") }
    if let expires = token.expires {
      words.append("\(clock.hasPassed(expires) ? "expired" : "expires") \(text(expires))")
    }
    return words.joined(separator: "  ")
  }

  /// A damaged file may have a time that is no date.
  private static func text(_ time: Date) -> String {
    guard (0...HybridTime.maximumMilliseconds).contains(time.milliseconds) else {
      return "no date (\(time.milliseconds) ms)"
    }
    return time.formatted(.iso8601)
  }
}
#endif
