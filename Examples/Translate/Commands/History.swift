import ArgumentParser
import ExampleService
import Foundation
import GRDB
import Tern

struct Listing: ParsableArguments {
  @OptionGroup var file: DataFile
  @Flag(help: ArgumentHelp(Word.jsonHelp.text)) var json = false

  func say(_ entries: [Entry]) throws {
    for entry in entries { json ? try sayJSON(entry) : translate.say(entry.line) }
  }
}

extension TranslateDatabase {
  /// Says how questions stand, for scripts.
  func tell(_ ids: [String]) async throws {
    for id in ids {
      if let entry = try await pool.read({ try Entry.find(id, in: $0) }) { try sayJSON(entry) }
    }
  }
}

struct History: AsyncParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(commandName: "history", abstract: Word.historyAbstract.text)
  }

  @OptionGroup var listing: Listing
  @Option(help: ArgumentHelp(Word.conversationHelp.text)) var conversation: String?
  @Option(help: ArgumentHelp(Word.limitHelp.text)) var limit = TranslateDatabase.mostPhrases

  func run() async throws {
    try await listing.file.use { database, _ in
      guard limit > 0 else { throw Refusal(Word.badLimit.text(limit)) }
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
        ORDER BY best, askedAt DESC, phrase.id LIMIT ?
        """), arguments: ["text : (\(words.rawPattern))", limit])
  }
}

struct Search: AsyncParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(commandName: "search", abstract: Word.searchAbstract.text)
  }

  @OptionGroup var listing: Listing
  @Argument(help: ArgumentHelp(Word.searchHelp.text)) var text: String

  func run() async throws {
    try await listing.file.use { database, _ in
      guard FTS5Pattern(matchingAllPrefixesIn: text) != nil else {
        throw Refusal(Word.noWord.text)
      }
      try listing.say(try await database.pool.read { try History.search(text, in: $0) })
    }
  }
}
