#if Server
import ArgumentParser
import Foundation
import TernCore
import TernServer

struct SpaceMoveCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "move",
    abstract: "Move a space with all that it has to another file or database.",
    discussion: """
      Servers may be running. The space is served where it was until it is copied, takes nothing \
      new for a moment at the end, and is then served where it was moved to. If the command is \
      stopped, run it again: it goes on. The space's tokens move too. Delete what stays \
      behind with 'tern space delete'.
      """)

  @Argument(help: "The space's name, from 'tern space list'.")
  var space: String

  @Option(help: "Where the space is: a file, or the address of a PostgreSQL database.")
  var from: String

  @Option(help: "Where it is to go. A file is made if there is none.")
  var to: String?

  @Option(help: "The schema of the database that the space is in.")
  var fromSchema = "tern"

  @Option(help: "The schema of the database that it is to go to.")
  var toSchema = "tern"

  @Option(help: "A file with the password of the database that the space is in.")
  var fromPasswordFile: String?

  @Option(help: "A file with the password of the database that it is to go to.")
  var toPasswordFile: String?

  @Flag(help: "Take back a move that has not come to its end.")
  var cancel = false

  @Flag(help: "With --cancel, without --to: the other store is lost for good.")
  var lost = false

  private var source: DataOptions {
    DataOptions(data: from, schema: fromSchema, passwordFile: fromPasswordFile)
  }

  private var target: DataOptions {
    DataOptions(data: to ?? "", schema: toSchema, passwordFile: toPasswordFile)
  }

  func validate() throws {
    try source.check(as: "--from", passwordFile: "--from-password-file")
    try target.check(as: "--to", passwordFile: "--to-password-file")
    guard !lost || cancel else {
      throw ValidationError("--lost says with --cancel that the other store is gone for good")
    }
    guard (to == nil) == lost else {
      throw ValidationError(
        lost
          ? "name the other store with --to, or say --lost, but not both"
          : "name the store that the space is to go to with --to")
    }
  }

  func run() async throws {
    let name = try SpaceName(space)
    do {
      try MovedData.with(source, mayCreate: false) { source in
        if lost {
          try SpaceMove.serveAgain(name, in: source, by: .ofThisCommand)
          return print("space \(name) is served where it is")
        }
        try MovedData.with(target, mayCreate: !cancel) { try move(name, from: source, to: $0) }
      }
    } catch let error as SpaceMoveError {
      throw ValidationError(error.message)
    } catch let error as RemoteError {
      throw ValidationError(error.message)
    }
  }

  private func move(
    _ name: SpaceName, from source: any MovableStore, to target: any MovableStore
  ) throws {
    let disk: ServerDisk = self.target.isDatabase ? .unlimited : .holding(self.target.data)
    let service = SpaceService(store: target, clock: target.clock, disk: disk)
    let move = SpaceMove(name, from: source, to: target, by: .ofThisCommand) { bytes in
      guard let shortage = try service.shortage(adding: bytes) else { return }
      throw ValidationError("\(shortage); make room, and run the move again to go on")
    } willDo: {
      if let line = Self.text(of: $0) { print(line) }
    }
    if cancel {
      try move.cancel()
      return print(
        "space \(name) is served where it is, and nothing of it is left in the other store")
    }
    let isMoved = try move.run()
    print(
      isMoved
        ? "space \(name) is moved; 'tern space delete' removes what stays behind"
        : "space \(name) was moved there before")
  }

  /// What a step is called, for whoever waits for it.
  private static func text(of step: SpaceMove.Step) -> String? {
    switch step {
    case .copyOperations(let position): "copying operations after \(position)"
    case .copySnapshots: "copying snapshots"
    case .freeze: "the space takes nothing new until it is moved"
    case .compare: "comparing"
    case .open: "opening the space where it was moved to"
    case .leave, .arrive, .copyPart, .trim, .settle, .finish: nil
    }
  }
}

/// A store that a space moves from or to.
private enum MovedData {
  /// - Parameter mayCreate: whether a file is made where there is none.
  static func with(
    _ options: DataOptions, mayCreate: Bool, _ body: (any MovableStore) throws -> Void
  ) throws {
    if !mayCreate { try options.checkFileIsThere() }
    // Where a server serves the file, that one moves the log into it; what is copied here would
    // make the log grow otherwise.
    let lock = options.isDatabase ? nil : try? ServingLock(dataPath: options.data)
    defer { lock?.release() }
    let data = try options.open(checkpoints: lock != nil)
    defer { data.close() }
    try body(data.store)
  }
}
#endif
