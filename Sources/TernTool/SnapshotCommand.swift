#if Server
import ArgumentParser
import Foundation
import TernCore
import TernServer

struct SnapshotCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "snapshot",
    abstract: "List, accept and drop a space's snapshots. The server may be running.",
    subcommands: [
      SnapshotListCommand.self, SnapshotAcceptCommand.self, SnapshotDropCommand.self,
    ])
}

/// A snapshot of a space by its name.
struct SnapshotOptions: ParsableArguments {
  @OptionGroup var data: DataOptions

  @Argument(help: "The space's name, from 'tern space list'.")
  var space: String

  @Argument(help: "The snapshot's id, from 'tern snapshot list'.")
  var id: String

  func run(_ body: (SpaceService, SpaceName) throws -> Void) throws {
    let name = try SpaceName(space)
    try withVisitingService(data) { service in
      try checkIsThere(name, service)
      do {
        try body(service, name)
      } catch let error as RemoteError where error.code == .snapshotUnknown {
        throw ValidationError(
          "\(error.message.prefix { $0 != ";" }); see 'tern snapshot list' for space \(space)")
      }
    }
  }
}

struct SnapshotListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Print a line for every snapshot and upload of a space, and why one was refused.",
    discussion: "The server takes a snapshot only if it lacks nothing that the space has.")

  @OptionGroup var options: DataOptions

  @Argument(help: "The space's name, from 'tern space list'.")
  var space: String

  func run() async throws {
    let name = try SpaceName(space)
    try withVisitingService(options) { service in
      try checkIsThere(name, service)
      for snapshot in try service.snapshots(of: name) {
        print(Self.line(snapshot))
      }
    }
  }

  private static func line(_ snapshot: StoredSnapshot) -> String {
    let state =
      if let refusal = snapshot.refusal {
        "refused: \(refusal.shown())"
      } else if snapshot.isComplete {
        snapshot.isBase ? "taken, as a base" : "taken"
      } else {
        "on its way"
      }
    return "\(snapshot.id)  up to \(snapshot.position)  \(snapshot.bytes) bytes  "
      + "\(snapshot.touched.ISO8601Format())  \(state)"
  }
}

struct SnapshotAcceptCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "accept",
    abstract: "Take a snapshot that was refused. Everything before it is then trimmed as usual.",
    discussion:
      "Use it after a table or a column was dropped. Each device still checks the snapshot.")

  @OptionGroup var snapshot: SnapshotOptions

  func run() async throws {
    try snapshot.run { service, space in
      _ = try service.acceptSnapshot(snapshot.id, in: space)
    }
  }
}

struct SnapshotDropCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "drop",
    abstract: "Drop a snapshot or an upload. The snapshot before it is then the newest.",
    discussion: """
      A base goes with what its authors wrote behind it. Devices that have it offer it again. The only \
      snapshot that stands for trimmed operations can't be dropped: see 'tern space restore'.
      """)

  @OptionGroup var snapshot: SnapshotOptions

  func run() async throws {
    try snapshot.run { service, space in
      try service.dropSnapshot(snapshot.id, in: space)
    }
  }
}
#endif
