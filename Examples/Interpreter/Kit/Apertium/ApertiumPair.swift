import Foundation

/// A direction in which an installed Apertium translates.
public struct ApertiumPair: Hashable, Sendable {
  /// By ISO 639: two letters where there are two, otherwise three.
  public let source: String
  public let target: String
  /// The file that says which programs do it, one after the other.
  let mode: URL

  /// As Apertium itself calls the direction.
  var name: String { mode.deletingPathExtension().lastPathComponent }

  /// All that are installed, by name. Variants of a language are left out.
  public static func installed(
    in folder: URL = URL(filePath: "/usr/share/apertium/modes")
  ) -> [ApertiumPair] {
    let files = try? FileManager.default.contentsOfDirectory(
      at: folder, includingPropertiesForKeys: nil)
    // Without the folder nothing is installed.
    return (files ?? []).filter { $0.pathExtension == "mode" }.compactMap(ApertiumPair.init)
      .sorted { $0.name < $1.name }
  }

  private init?(mode: URL) {
    let codes = mode.deletingPathExtension().lastPathComponent.split(separator: "-")
    guard codes.count == 2, codes.allSatisfy({ (2...3).contains($0.count) }) else { return nil }
    (source, target, self.mode) = (Self.code(codes[0]), Self.code(codes[1]), mode)
  }

  private static func code(_ text: Substring) -> String {
    let code = Locale.LanguageCode(String(text))
    return code.identifier(.alpha2) ?? String(text)
  }

  /// The programs as one line for a shell, each told to pass on what it has at a text's end.
  func command() throws(ApertiumError) -> String {
    guard let line = try? String(contentsOf: mode, encoding: .utf8) else {
      throw ApertiumError(.broken, "the direction \(name) can't be read; install it again")
    }
    let programs = line.trimmingCharacters(in: .whitespacesAndNewlines).split(separator: "|")
    return programs.map { program in
      let words = program.split(separator: " ", maxSplits: 1)
      let rest = words.count > 1 ? String(words[1]) : ""
      return "\(words[0]) -z \(rest.replacing("$1", with: "-g").replacing("$2", with: ""))"
    }.joined(separator: " | ")
  }
}

/// Why nothing was translated.
public struct ApertiumError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Code: Sendable {
    /// No direction leads from the one language to the other.
    case noPair
    /// None of the languages from which a direction leads has such words.
    case unknownLanguage
    case textTooLong
    /// The programs died, fell silent, or can't be started.
    case broken
  }

  public let code: Code
  public let description: String

  init(_ code: Code, _ description: String) { (self.code, self.description) = (code, description) }
}
