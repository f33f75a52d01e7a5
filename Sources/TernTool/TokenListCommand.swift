#if Server
import ArgumentParser
import Foundation
import TernCore
import TernServer

struct TokenListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Print a line for every token: its id, when it was made, its space, whose it is.",
    discussion: "The id is taken from the token's digest; the token itself is kept nowhere.")

  @OptionGroup var options: DataOptions

  func run() async throws {
    try withVisitingService(options) { service in
      for token in try service.store.tokens() {
        let member = token.member.map { "  \($0)" } ?? ""
        let time = Self.text(token.created)
        print("\(token.digest)  \(time)  \(token.space)\(member)")
      }
    }
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
