import ArgumentParser
import ExampleService
import Foundation
import Tern

/// With which Tern server a command syncs, beside its work.
struct SyncOptions: ParsableArguments {
  @Option(help: ArgumentHelp(Word.syncHelp.text)) var sync: String?
  @Option(help: ArgumentHelp(Word.spaceHelp.text)) var space = "home"
  @Option(help: ArgumentHelp(Word.tokenHelp.text)) var tokenFile: String?
  @Option(help: .hidden) var token: String?

  /// - Returns: `nil` where none is named.
  func engine(_ database: TranslateDatabase) throws -> SyncEngine? {
    guard let sync else { return nil }
    guard let url = ServiceAddress.url(sync),
      let token = try ServerToken.find(token, file: tokenFile)
    else { throw Refusal(Word.syncNeeds.text) }
    return SyncEngine(database.replica, remote: HTTPRemote(url, space: space, token: { token }))
  }

  /// Says why nothing syncs, each time that it is another reason.
  static func tell(_ status: SyncStatus) async {
    var last: RemoteError.Code?
    for await now in status.updates where now.lastError?.code != last {
      last = now.lastError?.code
      if let error = now.lastError { complain(Word.noSync.text(error).shown()) }
    }
  }
}
