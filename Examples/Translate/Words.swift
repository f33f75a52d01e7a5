import ExamplePages
import ExampleWork
import Foundation
import Synchronization

/// What the program says, each by its name; `Page/site/program.en.json` has the words. Help is English.
enum Word: String, CaseIterable {
  case waiting, offlineMark, nothingWaits, someWait, unreachable, limited, retries, saved
  case madeBy, sure, alsoSaid, leftOut, notUTF8
  case problemBlocked, problemRecited, problemTruncated, problemEmpty, problemWrongKey
  case problemInsecure, problemRefused, problemBroken, problemOverloaded
  case emptyText, longText, zeroText, unknownCode, sameLanguage, nearCommand
  case fullDisk, badFile, badSetting, noSetting, loneModel, noPhrase, nothingToUndo, undone, noSync
  case portal, noKey, nobody, ownService, noOwnService
  case othersQuestion, manyStars

  var text: String { Words.languages[Words.language]?[rawValue] ?? rawValue }

  /// With what stands at each `{}`, in order.
  func text(_ values: any CustomStringConvertible...) -> String {
    var pieces = text.components(separatedBy: "{}")[...]
    var text = pieces.popFirst() ?? ""
    for (value, piece) in zip(values, pieces) { text += value.description + piece }
    return text
  }
}

/// The program's own words. A further language is one more file, and a code in `languages`.
enum Words {
  static let languages = ["en", "es"].reduce(into: [String: [String: String]]()) {
    $0[$1] = PageFiles.json([String: String].self, named: "program.\($1).json", in: PageFiles.file)
  }

  static let ofPage = ["de", "en", "es", "fr", "ja", "zh"]

  private static let chosen = Mutex<String?>(nil)

  /// What a person chose; otherwise the system's, by the locale of messages, and English where that
  /// is none of these.
  static var language: String { chosen.withLock { $0 } ?? system }

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
