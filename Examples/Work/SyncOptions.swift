import ArgumentParser
import ExampleService
import Tern
import TernNetwork

/// With which Tern server a command syncs, beside its work.
package struct SyncOptions: ParsableArguments {
  @Option(help: "A Tern server to sync with.") var sync: String?
  @Option(help: "The space on that server.") var space = "home"
  @Option(help: "A file that holds its token; without one TERN_TOKEN has it.")
  var tokenFile: String?
  @Option(help: .hidden) var token: String?

  package init() {}

  /// Which space of which server it is; `nil` where none is named.
  package var place: String? { sync.map { "\($0) \(space)" } }

  /// - Throws: ``Refusal``, before anything is opened.
  package func remote() throws -> HTTPRemote? {
    guard let sync else { return nil }
    guard let url = ServiceAddress.url(sync),
      let token = try ServerToken.find(token, file: tokenFile)
    else {
      throw Refusal(
        "--sync is a URL such as http://127.0.0.1:8080, and needs a token in TERN_TOKEN or in a "
          + "--token-file")
    }
    return HTTPRemote(url, space: space, token: { token })
  }
}
