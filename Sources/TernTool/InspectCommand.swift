#if Server
import ArgumentParser
import Foundation
import Tern
import TernPages

struct InspectCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspect",
    abstract: "Show what a database keeps of its replicas, or what a server's data file holds.",
    discussion: """
      It changes nothing, and the file may be in use. With --serve it shows an app's database as a \
      page on this machine until SIGTERM or SIGINT: replicas, jobs, the inbox, and rows.
      """)

  @Argument(help: "An app's database with a replica, or the data file of 'tern serve'.")
  var file: String

  @Flag(help: "Print JSON instead of tables.")
  var json = false

  @Flag(help: "Serve a page on 127.0.0.1 that follows the file, and print its address.")
  var serve = false

  @Option(help: "The page's port, with --serve; 0 for a free one.")
  var port = 0

  @Flag(help: "Print the page's address alone, and open no browser.")
  var noOpen = false

  @Flag(help: "Let the page retry and cancel jobs, and restore what lost.")
  var allowChanges = false

  func validate() throws {
    guard serve || (port == 0 && !noOpen && !allowChanges) else {
      throw ValidationError("--port, --no-open and --allow-changes go with --serve")
    }
    guard !(serve && json) else { throw ValidationError("--serve and --json exclude each other") }
    guard (0...65_535).contains(port) else {
      throw ValidationError("--port is a number from 0 to 65535")
    }
  }

  func run() async throws {
    if serve { return try await servePage() }
    if let server = try InspectServerFile(path: file) {
      print(json ? try ToolJSON.text(server) : InspectReport(server).text)
    } else {
      let file = try DatabaseFileInspection(path: file)
      print(json ? try ToolJSON.text(file) : InspectReport(file).text)
    }
  }

  private func servePage() async throws {
    // A file that can't be read now is told on the page, which looks again.
    if let server = try? InspectServerFile(path: file) {
      throw ValidationError(
        "--serve shows an app's database, and \(server.path) is a server's; leave out --serve")
    }
    var generator = SystemRandomNumberGenerator()
    let token = PageToken(using: &generator)
    let page = InspectPage(path: file, allowsChanges: allowChanges)
    let server = PageServer(.inspect, program: page, token: token, port: port)
    try await server.run { [noOpen] address in
      print("tern: \(address)")
      // Whoever started this waits for the line, and a pipe would keep it in a buffer.
      fflush(nil)
      if !noOpen { PageBrowser.open(address) }
    }
  }
}
#endif
