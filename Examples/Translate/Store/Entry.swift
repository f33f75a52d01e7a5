import ExampleService
import Foundation
import GRDB

/// What came of a question: a translation, or why there is none.
struct Answer: Codable, Sendable {
  var text: String?
  /// The language that was found, where it was to be.
  var source: String?
  /// Which service or program made it.
  var engine: String?
  /// From 0 to 1, where the service says it.
  var confidence: Double?
  var alternatives: [String] = []
  var isOffline = false
  /// A ``Problem`` by name, and a service's own words.
  var problem, detail: String?
}

/// A line of the history, as it is shown and as `--json` has it.
struct Entry: Codable, FetchableRecord, Sendable {
  var id, conversation, from, to, text: String
  var translation, engine, problem, detail: String?
  var found: String?
  var confidence: Double?
  var alternatives: [String]?
  var isOffline: Bool?
  /// `waiting`, `done` or `failed`.
  var state: String
  /// Microseconds since 1970.
  var askedAt: Int64

  /// One row for each question, in the order in which they were asked. What is at the end goes
  /// behind `FROM`.
  static func select(_ rest: String) -> String {
    """
    SELECT phrase.id, conversation, phrase.source AS "from", target AS "to", phrase.text,
      answer.text AS translation, engine, problem, detail, answer.source AS found, confidence,
      alternatives, isOffline, askedAt,
      CASE WHEN answer.phrase IS NULL THEN 'waiting' WHEN answer.text IS NULL THEN 'failed'
        ELSE 'done' END AS state
    FROM phrase LEFT JOIN answer ON answer.phrase = phrase.id \(rest)
    """
  }

  static func find(_ id: String, in db: Database) throws -> Entry? {
    try fetchOne(db, sql: select("WHERE phrase.id = ?"), arguments: [id])
  }

  /// The newest last.
  static func newest(_ count: Int, in conversation: String?, _ db: Database) throws -> [Entry] {
    try fetchAll(
      db,
      sql: select(
        "WHERE conversation = coalesce(?, conversation) ORDER BY askedAt DESC, phrase.id DESC LIMIT ?"
      ),
      arguments: [conversation, count]
    ).reversed()
  }

  var askedDate: Date { Date(timeIntervalSince1970: Double(askedAt) / 1_000_000) }

  var line: String {
    let said = translation ?? problem.map { Problem.text($0, detail) } ?? Word.waiting.text
    let mark = isOffline == true ? "\t" + Word.offlineMark.text : ""
    // Languages, too, can be what another device or its service said.
    return "\((found ?? from).shown())→\(to.shown())\t\(text.shown())\t\(said.shown())\(mark)"
  }
}

/// Why a question has no translation, for ever. The names are stored.
enum Problem: String, CaseIterable {
  case blocked, recited, truncated, empty, wrongKey, insecure, refused, broken, overloaded
  /// For days something else answered in the service's place.
  case elsewhere

  var word: Word {
    switch self {
    case .blocked: .problemBlocked
    case .recited: .problemRecited
    case .truncated: .problemTruncated
    case .empty: .problemEmpty
    case .wrongKey: .problemWrongKey
    case .insecure: .problemInsecure
    case .refused: .problemRefused
    case .broken: .problemBroken
    case .overloaded: .problemOverloaded
    case .elsewhere: .problemElsewhere
    }
  }

  /// In the reader's language, also what another device found; a newer one's names stay as they are.
  static func text(_ name: String, _ detail: String?) -> String {
    let said = Problem(rawValue: name)?.word.text ?? name
    return detail.map { "\(said) (\($0))" } ?? said
  }
}
