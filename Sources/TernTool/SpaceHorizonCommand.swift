#if Server
import ArgumentParser
import Foundation
import TernCore
import TernServer

struct SpaceHorizonCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "horizon",
    abstract: "Print what a space waits for before it trims: snapshots, and who has read least.",
    discussion: """
      A line for each replica that has a lease, the one that has read least first: its id, its \
      member, up to where it has read, and when it said so, to the day. 'tern replica release' \
      drops a lease.
      """)

  @OptionGroup var options: DataOptions

  @Argument(help: "The space's name, from 'tern space list'.")
  var space: String

  func run() async throws {
    let name = try SpaceName(space)
    try withVisitingService(options) { service in
      try ofThereOne(name) {
        let horizon = try service.asOperator.horizon(of: name)
        print("ends at    \(horizon.position)")
        print("trimmed    up to \(horizon.trimmed)")
        print("snapshots  let it trim up to \(horizon.snapshot)")
        for reader in horizon.readers { print(Self.line(reader, service.clock)) }
      }
    }
  }

  private static func line(_ reader: SpaceReader, _ clock: ServerClock) -> String {
    let days = Int(clock.now.timeIntervalSince(reader.lease.renewed) / 86_400)
    let age = days < 1 ? "today" : days == 1 ? "a day ago" : "\(days) days ago"
    let member = reader.member.map { "of \($0)" } ?? "of nobody"
    return "\(reader.replica)  \(member)  has read up to \(reader.lease.position)  \(age)"
  }
}
#endif
