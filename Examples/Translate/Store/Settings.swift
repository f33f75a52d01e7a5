import ExampleService
import Foundation
import GRDB
import InterpreterClient

/// What a person chose, by name. Each is a row of its own, and the same on all devices but where
/// ``isLocal`` says otherwise.
enum Setting: String, CaseIterable {
  /// Languages, of which the first can be `auto`.
  case from, to
  /// Where the service is, and which of its models is asked.
  case service, model
  /// Whether the sides of a conversation change after each turn, whether answers are spoken, and
  /// whether questions are answered with what is installed here when the service can't be reached.
  case swap, speak, offline
  /// Of the words: a code, or `auto` for the system's. The page has more than the terminal.
  case language
  /// How the page looks and speaks: its colours, the size of its text in per cent, contrast, motion,
  /// and the speed of speech, of which 1 is as usual.
  case theme, size, contrast, motion, rate
  /// Whether the page's introduction was read or skipped, on any device.
  case welcomed

  /// What each is unless chosen, and what else it can be, where these are few.
  private static let choices: [Setting: [String]] = [
    .from: ["auto"], .to: ["es"], .service: ["http://127.0.0.1:8091"], .model: ["apertium"],
    .swap: ["on", "off"], .speak: ["off", "on"], .offline: ["off", "on"], .welcomed: ["off", "on"],
    .language: ["auto"] + Words.ofPage, .theme: ["auto", "light", "dark"],
    .size: ["100", "125", "150", "200"], .contrast: ["auto", "more"], .motion: ["auto", "less"],
    .rate: ["1", "0.5", "0.75", "1.25", "1.5", "2"],
  ]

  var standard: String { Self.choices[self]![0] }

  /// Whether each device has its own. Where questions and the key go, no other one decides; and a
  /// model is one of that service's.
  var isLocal: Bool { self == .service || self == .model }

  func accepts(_ value: String) -> Bool {
    switch self {
    case .from: value == "auto" || LanguageName.isKnown(value)
    case .to: LanguageName.isKnown(value)
    case .service: ServiceAddress.url(value) != nil
    case .model: !value.isEmpty
    default: Self.choices[self]!.contains(value)
    }
  }

  /// - Throws: ``Refusal``.
  static func named(_ name: String) throws -> Setting {
    guard let setting = Setting(rawValue: name) else {
      throw Refusal(
        Word.noSetting.text(name, allCases.map(\.rawValue).joined(separator: ", ")))
    }
    return setting
  }
}

struct Settings: Sendable {
  private var values: [String: String] = [:]

  init(in db: Database) throws {
    for (table, isLocal) in [("setting", false), ("localSetting", true)] {
      for row in try Row.fetchAll(db, sql: "SELECT name, value FROM \(table)")
      where (Setting(rawValue: row[0])?.isLocal ?? false) == isLocal { values[row[0]] = row[1] }
    }
  }

  subscript(_ setting: Setting) -> String {
    // What a newer version of the program chose may be nothing that this one knows.
    values[setting.rawValue].flatMap { setting.accepts($0) ? $0 : nil } ?? setting.standard
  }

  static func set(_ setting: Setting, to value: String, in db: Database) throws {
    try db.execute(
      sql: """
        INSERT INTO \(setting.isLocal ? "localSetting" : "setting") VALUES (?, ?)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value
        """, arguments: [setting.rawValue, value])
  }
}
