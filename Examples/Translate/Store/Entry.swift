import ExampleService
import Foundation
import GRDB
import InterpreterClient

/// What came of a question: a translation, or why there is none.
struct Answer: Codable, PersistableRecord, Sendable {
  /// Its question; empty until it is kept.
  var phrase = ""
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

extension Problem {
  /// In the reader's language, also what another device found; a newer one's names stay as they are.
  static func text(_ name: String, _ detail: String?) -> String {
    let word = Word(rawValue: "problem\(name.prefix(1).uppercased())\(name.dropFirst())")
    let said = word?.text ?? name
    return detail.map { "\(said) (\($0))" } ?? said
  }
}

/// Two sides that talk by turns.
struct Conversation: Codable, FetchableRecord, PersistableRecord, Sendable {
  var id, near, far: String
  var isFarsTurn = false
  /// Microseconds since 1970.
  var startedAt: Int64
}

/// A translation that is kept. It stands by itself: the question may have left the history.
struct Favorite: Codable, FetchableRecord, PersistableRecord {
  var source, target, text, translation: String
  var addedAt: Int64
}

/// A line of the history, as it is shown and as `--json` has it.
struct Entry: Codable, FetchableRecord, TableRecord, Sendable {
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

  static func find(_ id: String, in db: Database) throws -> Entry? {
    try filter(Column("id") == id).fetchOne(db)
  }

  /// The newest last.
  static func newest(_ count: Int, _ db: Database) throws -> [Entry] {
    try order(Column("askedAt").desc, Column("id").desc).limit(count).fetchAll(db).reversed()
  }

  /// Of the history, those that hold all words, in any case and with any accents; the newest last.
  /// There are few enough to look at each, and so no index has to follow what syncs.
  static func search(_ text: String, in db: Database) throws -> [Entry] {
    let words = text.split { !$0.isLetter && !$0.isNumber }
    return try newest(TranslateDatabase.mostPhrases, db).filter { entry in
      words.allSatisfy { word in
        [entry.text, entry.translation ?? ""].contains {
          $0.range(of: word, options: [.caseInsensitive, .diacriticInsensitive]) != nil
        }
      }
    }
  }

  var line: String {
    let said = translation ?? problem.map { Problem.text($0, detail) } ?? Word.waiting.text
    let mark = isOffline == true ? "\t" + Word.offlineMark.text : ""
    // Languages, too, can be what another device or its service said.
    return "\((found ?? from).shown())→\(to.shown())\t\(text.shown())\t\(said.shown())\(mark)"
  }
}
