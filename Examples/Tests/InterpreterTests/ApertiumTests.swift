import Foundation
import Testing

@testable import InterpreterKit

/// Tests that need the programs, and the two pairs of languages.
let isApertiumInstalled = {
  let apertium = Apertium()
  return apertium.pair(from: "en", to: "es") != nil && apertium.pair(from: "es", to: "fr") != nil
}()

@Suite(
  "Apertium", .enabled(if: isApertiumInstalled, "Apertium is not installed"),
  .timeLimit(.minutes(1)))
struct ApertiumTests {
  /// Its programs start once for all tests but those of their starting.
  private static let apertium = Apertium()

  @Test(arguments: [
    ("The house is big.", "en", "es", "La casa es grande."),
    ("La casa es grande", "es", "en", "The house is big"),
    ("La casa es grande.", "es", "fr", "La maison est grande."),
    ("La maison est grande.", "fr", "es", "La casa es grande."),
  ])
  func `a sentence is translated, by a direction that is named`(
    _ text: String, _ source: String, _ target: String, _ translation: String
  ) async throws {
    let result = try await Self.apertium.translate(text, from: source, to: target)
    #expect(result.text == translation)
    #expect(result.source == source && result.confidence == 1)
    #expect(result.engine.hasPrefix("apertium/"))
  }

  @Test func `a word that is not known stays, and makes it less sure`() async throws {
    let result = try await Self.apertium.translate("The qwzx is big.", from: "en", to: "es")
    #expect(result.text.contains("qwzx") && !result.text.contains("*"))
    #expect(result.confidence == 0.75)
  }

  @Test func `the language is the one whose words are known`() async throws {
    let apertium = Self.apertium
    for (text, source) in [("The house is very big.", "en"), ("La maison est grande.", "fr")] {
      #expect(try await apertium.translate(text, from: nil, to: "es").source == source)
    }
    let error = await #expect(throws: ApertiumError.self) {
      try await apertium.translate("הבית גדול מאוד", from: nil, to: "es")
    }
    #expect(error?.code == .unknownLanguage)
  }

  @Test(arguments: [
    "* @ # ^ $ / < > { } \\ [ ]", "a\n\n*b*\r\n[c]", "😀 👩‍👩‍👧 שלום", "…", "[]", ".[]", "{^a/b$}",
    "a]\u{301} [\u{301}b^\u{301}$\u{301} *\u{301}\\\u{301}",
  ])
  func `what is no word comes back as it was`(_ text: String) async throws {
    let (stream, hasStop) = ApertiumText.formatted(text)
    #expect(ApertiumText.plain(stream, hasStop: hasStop).text == text)
    let result = try await Self.apertium.translate("The house. " + text, from: "en", to: "es")
    let signs = text.filter { !$0.isLetter && !$0.isWhitespace }
    #expect(result.text.filter { !$0.isLetter && !$0.isWhitespace } == "." + signs)
  }

  @Test func `ten thousand characters come through whole, and too many are refused`()
    async throws
  {
    let text = String(repeating: "The house is big. ", count: 556).prefix(10_000)
    let apertium = Self.apertium
    let result = try await apertium.translate(String(text), from: "en", to: "es")
    #expect(result.text.components(separatedBy: "La casa es grande.").count == 556)
    let long = String(repeating: "a", count: Apertium.longestText + 1)
    let error = await #expect(throws: ApertiumError.self) {
      try await apertium.translate(long, from: "en", to: "es")
    }
    #expect(error?.code == .textTooLong)
  }

  @Test func `programs stay warm, and are started again when they die`() async throws {
    let apertium = Apertium()
    func pass() async throws -> (started: Int, id: pid_t?)? {
      #expect(
        try await apertium.translate("The house.", from: "en", to: "es").text == "La casa.")
      return await apertium.standings.values.first
    }
    let first = try #require(try await pass())
    let second = try #require(try await pass())
    #expect(first.started == 1 && second == first)
    // Its own group, with every program of the direction.
    let id = try #require(first.id)
    kill(-id, SIGKILL)
    let third = try #require(try await pass())
    #expect(third.started == 2 && third.id != id)
  }

  @Test func `a direction that is missing is named, with those that are there`() async throws {
    let error = await #expect(throws: ApertiumError.self) {
      try await Self.apertium.translate("x", from: "en", to: "tlh")
    }
    #expect(error?.code == .noPair)
    #expect(try #require(error).description.contains("en-es"))
  }
}
