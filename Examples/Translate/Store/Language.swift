import Foundation
import GRDB
import InterpreterKit

/// A language by its code of ISO 639-1, or of three letters where it has none of two.
struct Language: Sendable {
  let code: String

  static func isKnown(_ code: String) -> Bool {
    let language = Locale.LanguageCode(code)
    return language.isISOLanguage && (language.identifier(.alpha2) ?? code) == code
  }

  /// Those with a name of their own, by code.
  static var all: [Language] {
    Locale.LanguageCode.isoLanguageCodes.map { Language(code: $0.identifier) }
      .filter { isKnown($0.code) && $0.native != $0.code }
      .sorted { $0.code < $1.code }
  }

  /// In itself, and in the reader's language.
  var native: String { name(in: code) }
  var name: String { name(in: Words.language) }

  private func name(in reader: String) -> String {
    Locale(identifier: reader).localizedString(forLanguageCode: code) ?? code
  }

  func matches(_ text: String) -> Bool {
    let wanted = text.lowercased()
    return code == wanted || native.lowercased().contains(wanted)
      || name.lowercased().contains(wanted)
  }

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
    return Array(codes.filter(isKnown).prefix(mostStarred))
  }

  /// A row for each, as of the settings, so that two devices' choices are both kept.
  static func star(_ code: String, _ isStarred: Bool, in db: Database) throws {
    let name = "star.\(code)"
    guard isStarred else {
      return try db.execute(sql: "DELETE FROM setting WHERE name = ?", arguments: [name])
    }
    try db.execute(
      sql: """
        INSERT OR IGNORE INTO setting SELECT ?, 1 + coalesce(max(CAST(value AS INTEGER)), 0)
        FROM setting WHERE name LIKE 'star.%'
        """, arguments: [name])
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
    return Array(codes.filter(isKnown).prefix(5))
  }
}
