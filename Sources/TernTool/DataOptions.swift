#if Server
import ArgumentParser
import Foundation
import TernServer

/// Where the server's data is: the same for every subcommand.
struct DataOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The server's data: a file, or the address of a PostgreSQL database.",
      discussion: "'serve' and 'token create' make a file if there is none. An address begins with "
        + "postgresql://, and has no password."))
  var data: String

  @Option(help: "The schema of the database that has the server's tables.")
  var schema = "tern"

  @Option(help: "A file with the database's password, which is read at each new connection.")
  var databasePasswordFile: String?

  init() {}

  /// For commands that call them otherwise.
  init(data: String, schema: String, passwordFile: String?) {
    // An assignment to `self.schema` here would give the option a default, and no value.
    var options = DataOptions()
    options.data = data
    options.schema = schema
    options.databasePasswordFile = passwordFile
    self = options
  }

  /// Whether it is the address of a database.
  var isDatabase: Bool {
    data.hasPrefix("postgresql://") || data.hasPrefix("postgres://")
  }

  func validate() throws { try check(as: "--data", passwordFile: "--database-password-file") }

  /// - Parameters:
  ///   - option: how the command calls ``data``.
  ///   - file: how it calls ``databasePasswordFile``.
  /// - Throws: `ValidationError` for an address with a password, or a file of data with one.
  func check(as option: String, passwordFile file: String) throws {
    if isDatabase { return try Self.checkPassword(in: data, option, passwordFile: file) }
    if let databasePasswordFile {
      throw ValidationError(
        "\(file) names \(databasePasswordFile), and \(option) is a file without a password; leave it "
          + "out")
    }
  }

  /// - Throws: `ValidationError` for an address with a password.
  static func checkPassword(
    in address: String, _ option: String, passwordFile file: String = "--database-password-file"
  ) throws {
    if holdsPassword(address) {
      throw ValidationError(
        "\(option) has a password, which every user of this machine sees in the list of processes; "
          + "write it into a file that you alone can read, and name that: \(file)")
    }
  }

  /// By hand: an address may name several hosts, which `URLComponents` takes for none. Whoever is
  /// named with a colon before the last `@` has a password, whatever stands in it.
  private static func holdsPassword(_ address: String) -> Bool {
    let parts = address.dropFirst(address.prefix { $0 != "/" }.count + 2)
      .split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    if let end = parts[0].lastIndex(of: "@"), parts[0][..<end].contains(":") { return true }
    guard parts.count == 2 else { return false }
    return parts[1].split(separator: "&").contains { setting in
      let name = setting.prefix { $0 != "=" }
      return (name.removingPercentEncoding ?? String(name)).lowercased().contains("password")
    }
  }

  /// - Throws: ``AbsentFile`` for a data file that isn't there.
  func checkFileIsThere() throws {
    guard isDatabase || FileManager.default.fileExists(atPath: data) else {
      throw AbsentFile(path: data)
    }
  }

  /// - Parameter listening: where a database's notifications are heard.
  func open(
    checkpoints: Bool, listeningAt listening: String? = nil, preparesStatements: Bool = false,
    slowStatements: SlowStatements? = nil
  ) throws -> OpenedData {
    var generator = SystemRandomNumberGenerator()
    guard isDatabase else {
      let store = try SQLiteSpaceStore(
        path: data, using: &generator, checkpoints: checkpoints, slowStatements: slowStatements)
      return OpenedData(store: store) {
        // What is committed is durable, whatever closing says.
        try? store.close()
      }
    }
    #if PostgreSQL
    var limits = PostgreSQLLimits()
    limits.preparesStatements = preparesStatements
    let store = try PostgreSQLSpaceStore(
      data, schema: schema, listeningAt: listening, limits: limits,
      passwordFile: databasePasswordFile, slowStatements: slowStatements, using: &generator)
    return OpenedData(store: store) { store.close() }
    #else
    throw Self.withoutPostgreSQL
    #endif
  }

  #if !PostgreSQL
  static let withoutPostgreSQL = ValidationError(
    "this tern was built without PostgreSQL; build it with --traits PostgreSQL")
  #endif
}

/// A store, and how access to it ends.
struct OpenedData {
  let store: any MovableStore
  let close: () -> Void
}

/// Thrown for a data file that isn't there, by commands that only look.
struct AbsentFile: Error, CustomStringConvertible {
  var path: String
  var description: String { "there is no file \(path); 'tern token create' makes one" }
}

/// Runs `body` with a service over the data, beside a server that may have it open.
///
/// - Parameter checkpoints: whether to move the log into the file, where no server does.
func withVisitingService(
  _ options: DataOptions, mayCreate: Bool = false, checkpoints: Bool = false,
  _ body: (SpaceService) throws -> Void
) throws {
  if !mayCreate { try options.checkFileIsThere() }
  let data = try options.open(checkpoints: checkpoints)
  defer { data.close() }
  var service = SpaceService(store: data.store, clock: data.store.clock)
  service.actor = .ofThisCommand
  try body(service)
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
