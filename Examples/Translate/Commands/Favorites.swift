import ArgumentParser
import ExampleService
import Foundation
import GRDB
import Tern

struct Favorites: AsyncParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(commandName: "favorite", abstract: Word.favoriteAbstract.text)
  }

  @OptionGroup var listing: Listing
  @Argument(help: ArgumentHelp(Word.favoriteIDHelp.text)) var id: String?
  @Option(help: ArgumentHelp(Word.fromHelp.text)) var from: String?
  @Option(help: ArgumentHelp(Word.toHelp.text)) var to: String?
  @Flag(help: ArgumentHelp(Word.removeHelp.text)) var remove = false
  @Flag(help: ArgumentHelp(Word.allHelp.text)) var all = false

  /// It stands by itself: the question may have left the history.
  struct Favorite: Codable, FetchableRecord {
    var source, target, text, translation: String
    var addedAt: Int64

    var line: String {
      "\(source.shown())→\(target.shown())\t\(text.shown())\t\(translation.shown())"
    }
  }

  func run() async throws {
    try await listing.file.use { database, _ in
      if let id {
        if remove {
          try await self.remove(id, database)
        } else if try await !database.keep(id) {
          throw Refusal(Word.noPhrase.text(id))
        }
      }
      let kept = try await database.pool.read { db in
        try Favorite.fetchAll(
          db, sql: "SELECT * FROM favorite ORDER BY addedAt, text, source, target LIMIT ?",
          arguments: [all ? -1 : 5])
      }
      for one in kept { listing.json ? try sayJSON(one) : say(one.line) }
    }
  }

  /// By the question's id, or by its text.
  private func remove(_ id: String, _ database: TranslateDatabase) async throws {
    let found = try await database.pool.read { [from, to] db in
      let entry = try Entry.find(id, in: db)
      return try Favorite.fetchAll(
        db,
        sql: """
          SELECT * FROM favorite WHERE text = ? AND source = coalesce(?, source)
            AND target = coalesce(?, target) ORDER BY source, target
          """,
        arguments: [
          entry?.text ?? id, from ?? entry.map { $0.found ?? $0.from }, to ?? entry?.to,
        ])
    }
    guard let one = found.first else { throw Refusal(Word.noFavorite.text(id)) }
    guard found.count == 1 else {
      let pairs = found.map { "\($0.source)→\($0.target)" }.joined(separator: ", ")
      throw Refusal(Word.manyFavorites.text(pairs))
    }
    try await database.letGo(one.text, from: one.source, to: one.target)
  }
}
