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
  /// Of the program's own words: a code, or `auto` for the system's.
  case language

  var standard: String {
    switch self {
    case .from: "auto"
    case .to: "es"
    case .service: "http://127.0.0.1:8091"
    case .model: "apertium"
    case .swap: "on"
    case .speak, .offline: "off"
    case .language: "auto"
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
    case .swap, .speak, .offline: ["on", "off"].contains(value)
    case .language: value == "auto" || Words.languages.keys.contains(value)
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
