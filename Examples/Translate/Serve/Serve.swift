import ArgumentParser
import ExamplePages
import ExampleService
import Foundation
import GRDB
import InterpreterKit
import Tern
import TernJobs
import TernNetwork

struct Serve: AsyncParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(commandName: "serve", abstract: Word.serveAbstract.text)
  }

  @OptionGroup var file: DataFile
  @OptionGroup var remote: SyncOptions
  @Option(help: ArgumentHelp(Word.portHelp.text)) var port = 8092
  @Flag(help: ArgumentHelp(Word.noOpenHelp.text)) var noOpen = false

  func run() async throws {
    try await file.use { database, settings in
      guard (0...65_535).contains(port) else { throw Refusal(Word.badPort.text(port)) }
      let engine = try remote.engine(database)
      let token = try pageToken()
      try await database.pool.write { try database.goOn(in: $0) }
      try await OwnInterpreter.serving(settings[.service]) { own in
        try await work(database, beside: engine, token, own)
      }
    }
  }

  private func pageToken() throws -> PageToken {
    var generator = SystemRandomNumberGenerator()
    do {
      return try PageTokenFile(beside: file.data).token(using: &generator)
    } catch let error as PageTokenError {
      throw Refusal(Word.noPageToken.text(error.path, error.reason), .disk)
    }
  }

  /// Until SIGTERM or SIGINT, which end the page; what is under way is saved.
  private func work(
    _ database: TranslateDatabase, beside engine: SyncEngine?, _ token: PageToken,
    _ own: OwnInterpreter?
  ) async throws {
    let (coming, speaker, listener) = (ComingAnswers(), Speaker(), Listener())
    let translator = Translator(
      database: database, path: SystemPath.shared, key: DataFile.key, own: own
    ) { coming.add($1, to: $0) }
    let page = TranslatePage(
      database: database, coming: coming, speaker: speaker, listener: listener,
      runsInterpreter: own != nil,
      sync: engine?.status, space: remote.sync.map { "\($0) \(remote.space)" })
    let server = PageServer(.translate, program: page, token: token, port: port)
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask { try await serve(server) }
      // Another program on the file may be the one that works, and end before this one.
      tasks.addTask { try await translator.worker.run(standby: true) }
      tasks.addTask { try await OfflineHelp(database: database).run() }
      if let engine {
        tasks.addTask { await engine.run() }
        tasks.addTask { await SyncOptions.tell(engine.status) }
      }
      // The first that ends, ends all.
      let first = await tasks.nextResult()
      tasks.cancelAll()
      await speaker.stop()
      await listener.stop()
      do { try first?.get() } catch is CancellationError {}
    }
  }

  private func serve(_ server: PageServer) async throws {
    do {
      try await server.run { [noOpen] address in
        say("translate: \(address)")
        if !noOpen { PageBrowser.open(address) }
      }
    } catch let error as PageError {
      throw Refusal(Word.noPort.text(error.port, error.reason))
    }
  }
}
