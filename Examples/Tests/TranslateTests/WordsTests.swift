import Foundation
import InterpreterClient
import Testing

@testable import translate

@Suite("The program's own words")
struct WordsTests {
  @Test(arguments: Words.languages.keys.sorted())
  func `no word is missing in any language, nor a place for a value`(_ language: String) throws {
    let words = try #require(Words.languages[language])
    for word in Word.allCases {
      let text = words[word.rawValue] ?? ""
      #expect(!text.isEmpty, "\(language) has no \(word)")
      let places = text.components(separatedBy: "{}").count
      let expected = Words.languages["en"]?[word.rawValue]?.components(separatedBy: "{}").count
      #expect(places == expected, "\(language): \(word)")
    }
    #expect(words.count == Word.allCases.count)
  }

  @Test(arguments: [
    (["LC_ALL": "es_ES.UTF-8", "LANG": "en_US"], "es"), (["LANG": "es"], "es"),
    (["LC_ALL": "", "LC_MESSAGES": "es_MX@euro", "LANG": "en"], "es"), (["LANG": "de_DE"], "en"),
    (["LANG": "C.UTF-8"], "en"), ([:], "en"),
  ])
  func `the locale of messages chooses`(_ environment: [String: String], _ language: String) {
    #expect(Words.system(environment) == language)
  }

  // MARK: - The page's

  private static let site = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../Translate/Page/site").standardized

  private static func ofPage(_ language: String) throws -> [String: String] {
    let data = try Data(contentsOf: site.appending(path: "words.\(language).json"))
    return try JSONDecoder().decode([String: String].self, from: data)
  }

  @Test(arguments: Words.ofPage)
  func `the page's words are there in every language, with their places`(_ language: String) throws
  {
    let (words, english) = (try Self.ofPage(language), try Self.ofPage("en"))
    #expect(Set(words.keys) == Set(english.keys))
    for (name, text) in words {
      #expect(!text.isEmpty, "\(language): \(name)")
      let places = text.components(separatedBy: "{}").count
      #expect(places == english[name]?.components(separatedBy: "{}").count, "\(language): \(name)")
    }
  }

  @Test func `the page names no words that are not there, and has none that it never names`() throws
  {
    let english = try Self.ofPage("en")
    let scripts = try FileManager.default.contentsOfDirectory(
      at: Self.site, includingPropertiesForKeys: nil
    ).filter { $0.pathExtension == "js" }.map { try String(contentsOf: $0, encoding: .utf8) }
      .joined()
    let named = scripts.matches(of: /\bt\("([\w.]+)"/).map { String($0.output.1) }
    #expect(named.count > 80)
    for name in Set(named) { #expect(english[name] != nil, "no word \(name)") }
    // Those that are put together have a beginning or an end that is in the scripts.
    for name in english.keys where !scripts.contains("\"\(name)\"") {
      let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
      let isNamed = parts.count == 2 && scripts.contains("`\(parts[0]).${")
      #expect(isNamed, "nothing says \(name)")
    }
    for problem in Problem.allCases { #expect(english["problem.\(problem)"] != nil) }
  }

  @Test func `every problem has words`() {
    for problem in Problem.allCases {
      #expect(Problem.text(problem.rawValue, nil) != problem.rawValue, "\(problem)")
    }
    #expect(Problem.text("something newer", "x") == "something newer (x)")
  }
}
