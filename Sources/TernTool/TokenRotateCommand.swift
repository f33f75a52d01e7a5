#if Server
import ArgumentParser
import TernCore
import TernServer

struct TokenRotateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rotate",
    abstract: "Print a new token in place of another one, which expires after a time of grace.",
    discussion: "The new one has the other's space, member and label. It is shown this once.")

  @OptionGroup var options: DataOptions

  @Argument(help: "The old token's id, from 'tern token list'.")
  var id: String

  @Option(
    help: "How much longer the old one opens the space: a number and s, m, h, d or w; else 7d.")
  var grace: TimeSpan?

  @OptionGroup var expiry: TokenExpiry

  func run() async throws {
    try withVisitingService(options) { service in
      var generator = SystemRandomNumberGenerator()
      let old = try service.token(named: id)
      do {
        print(
          try service.asOperator.rotateToken(
            old.digest, grace: grace.map { .seconds($0.seconds) } ?? SpaceOperator.grace,
            expires: expiry.date(service.clock), using: &generator))
      } catch let error as RemoteError where error.code == .notFound {
        throw ValidationError(error.message)
      }
    }
  }
}
#endif
