#if Server
import ArgumentParser

struct SpaceListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Print a line for every space: its name, how many operations and tokens it has.",
    discussion: "Operations that were trimmed count too. 'tern inspect' says more.")

  @OptionGroup var options: DataOptions

  func run() async throws {
    try withVisitingService(options) { service in
      let tokens = try service.store.tokens()
      for space in try service.store.spaces() {
        print("\(space)  \(try service.contents(of: space, tokens))")
      }
    }
  }
}
#endif
