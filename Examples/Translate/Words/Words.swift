import Foundation
import Synchronization

/// The program's own words. A further language is one more file like English.swift, and a line in
/// `languages`.
enum Words {
  static let languages: [String: [Word: String]] = ["en": english, "es": spanish]

  /// Those of the page, where each is a file of its own.
  static let ofPage = ["de", "en", "es", "fr", "ja", "zh"]

  private static let chosen = Mutex<String?>(nil)

  /// What a person chose; otherwise the system's, by the locale of messages, and English where that
  /// is none of these.
  static var language: String {
    chosen.withLock { $0 } ?? system
  }

  private static let system = system(ProcessInfo.processInfo.environment)

  static func choose(_ language: String) {
    chosen.withLock { $0 = languages.keys.contains(language) ? language : nil }
  }

  /// - Source: POSIX.1-2024, section 8.2, "Internationalization Variables".
  static func system(_ environment: [String: String]) -> String {
    let name = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }
      .first { !$0.isEmpty }
    let code = String((name ?? "").prefix { $0 != "_" && $0 != "." && $0 != "@" })
    return languages.keys.contains(code) ? code : "en"
  }
}

extension Word {
  var text: String { Words.languages[Words.language]?[self] ?? rawValue }

  /// With what stands at each `{}`, in order.
  func text(_ values: any CustomStringConvertible...) -> String { text(with: values) }

  func text(with values: [any CustomStringConvertible]) -> String {
    var pieces = text.components(separatedBy: "{}")[...]
    var text = pieces.popFirst() ?? ""
    for (value, piece) in zip(values, pieces) { text += value.description + piece }
    return text
  }
}
