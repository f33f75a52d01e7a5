import Foundation
import Testing

@testable import translate

@Suite("The program's own words")
struct WordsTests {
  @Test(arguments: Words.languages.keys.sorted())
  func `no word is missing in any language, nor a place for a value`(_ language: String) throws {
    let words = try #require(Words.languages[language])
    for word in Word.allCases {
      let text = words[word] ?? ""
      #expect(!text.isEmpty, "\(language) has no \(word)")
      let places = text.components(separatedBy: "{}").count
      let expected = Words.english[word]?.components(separatedBy: "{}").count
      #expect(places == expected, "\(language): \(word)")
    }
  }

  @Test(arguments: [
    (["LC_ALL": "es_ES.UTF-8", "LANG": "en_US"], "es"), (["LANG": "es"], "es"),
    (["LC_ALL": "", "LC_MESSAGES": "es_MX@euro", "LANG": "en"], "es"), (["LANG": "de_DE"], "en"),
    (["LANG": "C.UTF-8"], "en"), ([:], "en"),
  ])
  func `the locale of messages chooses`(_ environment: [String: String], _ language: String) {
    #expect(Words.system(environment) == language)
  }

  @Test func `every problem has words`() {
    let words = Problem.allCases.map(\.word)
    #expect(Set(words).count == words.count)
    #expect(Problem.text("something newer", "x") == "something newer (x)")
  }
}
