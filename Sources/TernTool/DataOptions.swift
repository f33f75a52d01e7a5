#if Server
import ArgumentParser
import Foundation
import TernServer

/// Where the server's data is: the same for every subcommand.
struct DataOptions: ParsableArguments {
  @Option(help: "The server's data file. 'serve' and 'token create' make one if there is none.")
  var data: String

  func open(checkpoints: Bool) throws -> SQLiteSpaceStore {
    var generator = SystemRandomNumberGenerator()
    return try SQLiteSpaceStore(path: data, using: &generator, checkpoints: checkpoints)
  }
}

/// Thrown for a data file that isn't there, by commands that only look.
struct AbsentFile: Error, CustomStringConvertible {
  var path: String
  var description: String { "there is no file \(path); 'tern token create' makes one" }
}

/// Runs `body` with a service over the data file, beside a server that may have it open.
///
/// - Parameter checkpoints: whether to move the log into the file, where no server does.
func withVisitingService(
  _ options: DataOptions, mayCreate: Bool = false, checkpoints: Bool = false,
  _ body: (SpaceService) throws -> Void
) throws {
  guard mayCreate || FileManager.default.fileExists(atPath: options.data) else {
    throw AbsentFile(path: options.data)
  }
  let store = try options.open(checkpoints: checkpoints)
  defer { try? store.close() }
  try body(SpaceService(store: store, clock: .system))
}

/// - Throws: `ValidationError` for a space that isn't there.
func checkIsThere(_ space: SpaceName, _ service: SpaceService) throws {
  guard try service.store.spaces().contains(space) else { throw absent(space) }
}

/// What a command says of a space that isn't there, or was removed meanwhile.
func absent(_ space: SpaceName) -> ValidationError {
  ValidationError("there is no space \(space); see 'tern space list'")
}
#endif
