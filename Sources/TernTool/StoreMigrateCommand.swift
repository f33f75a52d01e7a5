#if Server
import ArgumentParser
import TernServer

struct StoreMigrateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate",
    abstract: "Bring a database's tables to this version's format, and say who can use them.",
    discussion: "A server does the same when it starts, and older servers go on beside it. Once "
      + "none of them runs any more, say --finish. From then on they refuse the database.")

  @OptionGroup var options: DataOptions

  @Flag(help: "End the use by older versions, none of which may run any more.")
  var finish = false

  func validate() throws {
    guard options.isDatabase else {
      throw ValidationError(
        "--data names a file, which 'tern serve' brings to its format when it starts; 'tern store "
          + "migrate' is for a database that several servers share")
    }
  }

  func run() async throws {
    let data = try options.open(checkpoints: false)
    defer { data.close() }
    #if PostgreSQL
    guard let store = data.store as? PostgreSQLSpaceStore else { return }
    let formats = try finish ? store.finishMigration() : store.formats()
    print("the schema \(options.schema) has format \(formats.format)")
    print("versions of Tern that know format \(formats.oldest) or a newer one can use it")
    if formats.oldest < min(formats.format, formats.known) {
      print("once no older version runs: tern store migrate --finish")
    }
    #endif
  }
}
#endif
