#if Server
import ArgumentParser
import Foundation
import TernServer

struct TokenListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Print a line for every token: its id, when it was made, its space.",
    discussion: "The id is taken from the token's digest; the token itself is kept nowhere.")

  @OptionGroup var options: DataOptions

  func run() async throws {
    try withVisitingService(options) { service in
      for token in try service.store.tokens() {
        let created = Date(timeIntervalSince1970: Double(token.createdMilliseconds) / 1000)
        print("\(token.digest)  \(created.formatted(.iso8601))  \(token.space)")
      }
    }
  }
}
#endif
