import ExampleService
import Foundation
import GRDB
import InterpreterClient
import InterpreterKit

/// Languages, by their codes.
enum Language {
  /// From which into which this machine translates by itself.
  static let offline = ApertiumPair.installed().map { [$0.source, $0.target] }

  /// How many can be among the favorites.
  static let mostStarred = 5

  /// The favorites, in the order in which they were chosen. Two devices may have chosen more.
  static func starred(in db: Database) throws -> [String] {
    let codes = try String.fetchAll(
      db,
      sql: """
        SELECT substr(name, 6) FROM setting WHERE name LIKE 'star.%' AND value <> ''
        ORDER BY CAST(value AS INTEGER), name
        """)
    return Array(codes.filter(LanguageName.isKnown).prefix(mostStarred))
  }

  /// A row for each, as of the settings, so that two devices' choices are both kept.
  ///
  /// - Throws: ``Refusal`` for one too many, or what is no language.
  static func star(_ code: String, _ isStarred: Bool, in db: Database) throws {
    guard LanguageName.isKnown(code) else { throw Refusal(Word.unknownCode.text(code)) }
    guard try !isStarred || starred(in: db).count < mostStarred else {
      throw Refusal(Word.manyStars.text(mostStarred))
    }
    try db.execute(
      sql: isStarred
        ? """
        INSERT OR IGNORE INTO setting SELECT ?, 1 + coalesce(max(CAST(value AS INTEGER)), 0)
        FROM setting WHERE name LIKE 'star.%'
        """ : "DELETE FROM setting WHERE name = ?", arguments: ["star.\(code)"])
  }

  /// The five that were used last, the latest first; a code that is none is none of them.
  static func lastUsed(in db: Database) throws -> [String] {
    let codes = try String.fetchAll(
      db,
      sql: """
        SELECT code FROM (
          SELECT target AS code, askedAt FROM phrase UNION ALL
          SELECT coalesce(answer.source, phrase.source), askedAt
          FROM phrase LEFT JOIN answer ON answer.phrase = phrase.id)
        WHERE code <> 'auto' GROUP BY code ORDER BY max(askedAt) DESC, code
        """)
    return Array(codes.filter(LanguageName.isKnown).prefix(5))
  }
}
