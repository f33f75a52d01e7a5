#if Server
import ArgumentParser
import Foundation
import Tern

struct InspectCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspect",
    abstract: "Show what a database keeps of its replicas, or what a server's data file holds.",
    discussion: "Reads only; the file may be in use meanwhile.")

  @Argument(help: "An app's database with a replica, or the data file of 'tern serve'.")
  var file: String

  @Flag(help: "Print JSON instead of tables.")
  var json = false

  func run() async throws {
    if let server = try InspectServerFile(path: file) {
      print(json ? try Self.json(server) : InspectReport(server).text)
    } else {
      let file = try DatabaseFileInspection(path: file)
      print(json ? try Self.json(file) : InspectReport(file).text)
    }
  }

  private static func json(_ document: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(document), as: UTF8.self)
  }
}
#endif
