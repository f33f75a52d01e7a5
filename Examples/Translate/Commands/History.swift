#if Server
import ArgumentParser
import ExampleService
import Foundation
import GRDB
import Tern

struct Listing: ParsableArguments {
  @OptionGroup var file: DataFile
  @Flag(help: ArgumentHelp(Word.jsonHelp.text)) var json = false

  func say(_ entries: [Entry]) throws {
    for entry in entries { json ? try sayJSON(entry) : ExampleService.say(entry.line) }
  }
}

struct History: AsyncParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(commandName: "history", abstract: Word.historyAbstract.text)
  }

  @OptionGroup var listing: Listing
  @Option var conversation: String?
  @Option var limit = TranslateDatabase.mostPhrases

  func run() async throws {
    try await listing.file.use { database, _ in
      try listing.say(
        try await database.pool.read { try Entry.newest(limit, in: conversation, $0) })
    }
  }

  /// Questions and answers in which all words begin so, the best first.
  static func search(_ text: String, in db: Database, limit: Int = 100) throws -> [Entry] {
    guard let words = FTS5Pattern(matchingAllPrefixesIn: text) else { return [] }
    return try Entry.fetchAll(
      db,
      sql: Entry.select(
        """
        JOIN (SELECT phrase AS hit, min(rank) AS best FROM words
          WHERE words MATCH ? GROUP BY phrase) ON hit = phrase.id
        ORDER BY best, askedAt DESC LIMIT ?
        """), arguments: ["text : (\(words.rawPattern))", limit])
  }
}

struct Search: AsyncParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(commandName: "search", abstract: Word.searchAbstract.text)
  }

  @OptionGroup var listing: Listing
  @Argument var text: String

  func run() async throws {
    try await listing.file.use { database, _ in
      guard FTS5Pattern(matchingAllPrefixesIn: text) != nil else {
        throw Refusal(Word.noWord.text)
      }
      try listing.say(try await database.pool.read { try History.search(text, in: $0) })
    }
  }
}

struct Favorites: AsyncParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(commandName: "favorite", abstract: Word.favoriteAbstract.text)
  }

  @OptionGroup var listing: Listing
  @Argument var id: String?
  @Flag var remove = false
  @Flag var all = false

  struct Favorite: Codable, FetchableRecord {
    var source, target, text, translation: String
    var addedAt: Int64

    var line: String { "\(source)→\(target)\t\(text.shown())\t\(translation.shown())" }
  }

  func run() async throws {
    try await listing.file.use { database, _ in
      if let id { try await change(id, database) }
      let kept = try await database.pool.read { db in
        try Favorite.fetchAll(
          db, sql: "SELECT * FROM favorite ORDER BY addedAt, text, source, target LIMIT ?",
          arguments: [all ? -1 : 5])
      }
      for one in kept {
        listing.json
          ? try sayJSON(one) : say(one.line)
      }
    }
  }

  private func change(_ id: String, _ database: TranslateDatabase) async throws {
    let entry = try await database.pool.read { try Entry.find(id, in: $0) }
    guard let entry, let translation = entry.translation else {
      throw Refusal(Word.noPhrase.text(id))
    }
    let source = entry.found ?? entry.from
    try await database.replica.write { [remove] db in
      if remove {
        try db.execute(
          sql: "DELETE FROM favorite WHERE source = ? AND target = ? AND text = ?",
          arguments: [source, entry.to, entry.text])
      } else {
        try db.execute(
          sql: "INSERT OR IGNORE INTO favorite VALUES (?, ?, ?, ?, ?)",
          arguments: [
            source, entry.to, entry.text, translation,
            Int64(Date().timeIntervalSince1970 * 1_000_000),
          ])
      }
    }
  }
}
#endif
