#if Server
import ArgumentParser
import Foundation
import TernCore
import TernServer

struct SpaceRefillCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "refill",
    abstract: "Let a space take bases for a day: snapshots of what it lost and no log has.",
    discussion: """
      Use it after the server was wiped or put back to an old backup, if a device's status says \
      'refill-needed'. Any member can then give a base, so don't use it otherwise.
      """)

  @OptionGroup var options: DataOptions

  @Argument(help: "The space's name, from 'tern space list'.")
  var space: String

  @Flag(help: "Take no more bases from now on.")
  var close = false

  func run() async throws {
    let name = try SpaceName(space)
    try withVisitingService(options) { service in
      do {
        guard let until = try service.refill(name, isOpen: !close) else {
          return print("space \(name) takes no bases unasked")
        }
        print("space \(name) takes bases until \(until.ISO8601Format())")
      } catch let error as RemoteError where error.code == .notFound {
        throw ValidationError(error.message)
      }
    }
  }
}
#endif
