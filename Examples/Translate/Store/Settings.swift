import ExampleService
import Foundation
import GRDB

/// What a person chose, by name. Each is a row of its own, and the same on all devices but where
/// ``isLocal`` says otherwise.
enum Setting: String, CaseIterable {
  /// Languages, of which the first can be `auto`.
  case from, to
  /// Where the service is, and which of its models is asked.
  case service, model
  /// Whether the sides of a chat change after each turn, whether answers are spoken, and whether
  /// questions are answered with what is installed here when the service can't be reached: `on` or
  /// `off`.
  case swap, speak, offline
  /// Of the program's own words: a code, or `auto` for the system's. The page has more than the
  /// terminal.
  case language
  /// How the page looks and speaks: `auto`, `light` or `dark`; the size of its text in per cent;
  /// `auto` or `more` contrast; `auto` or `less` motion; the speed of speech, of which 1 is as usual.
  case theme, size, contrast, motion, rate
  /// Whether the page's introduction was read or skipped, on any device: `on` or `off`.
  case welcomed

  var standard: String {
    switch self {
    case .from: "auto"
    case .to: "es"
    case .service: "http://127.0.0.1:8091"
    case .model: "apertium"
    case .swap: "on"
    case .speak, .offline: "off"
    case .language, .theme, .contrast, .motion: "auto"
    case .size: "100"
    case .rate: "1"
    case .welcomed: "off"
    }
  }

  /// Whether each device has its own. Where questions and the key go, no other one decides; and a
  /// model is one of that service's.
  var isLocal: Bool { self == .service || self == .model }

  func accepts(_ value: String) -> Bool {
    switch self {
    case .from: value == "auto" || Language.isKnown(value)
    case .to: Language.isKnown(value)
    case .service: ServiceAddress.url(value) != nil
    case .model: !value.isEmpty
    case .swap, .speak, .offline, .welcomed: ["on", "off"].contains(value)
    case .language: value == "auto" || Words.ofPage.contains(value)
    case .theme: ["auto", "light", "dark"].contains(value)
    case .size: ["100", "125", "150", "200"].contains(value)
    case .contrast: ["auto", "more"].contains(value)
    case .motion: ["auto", "less"].contains(value)
    case .rate: ["0.5", "0.75", "1", "1.25", "1.5", "2"].contains(value)
    }
  }
}

struct Settings: Sendable {
  private var values: [String: String]

  init(in db: Database) throws {
    values = [:]
    for (table, isLocal) in [("setting", false), ("localSetting", true)] {
      for row in try Row.fetchAll(db, sql: "SELECT name, value FROM \(table)") {
        let isTaken = Setting(rawValue: row[0])?.isLocal ?? false == isLocal
        if isTaken { values[row[0]] = row[1] }
      }
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
