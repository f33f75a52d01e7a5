#if Server
import ArgumentParser
import Tern

struct InspectCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspect",
    abstract: "Show what a database keeps of its replicas, or what a server's data file holds.",
    discussion: "It changes nothing, and the file may be in use.")

  @Argument(help: "An app's database with a replica, or the data file of 'tern serve'.")
  var file: String

  @Flag(help: "Print JSON instead of tables.")
  var json = false

  func run() async throws {
    if let server = try InspectServerFile(path: file) {
      print(json ? try ToolJSON.text(server) : InspectReport(server).text)
    } else {
      let file = try DatabaseFileInspection(path: file)
      print(json ? try ToolJSON.text(file) : InspectReport(file).text)
    }
  }
}
#endif
