import Foundation

/// Speech by programs of the system, where they are installed: `espeak-ng` speaks, and PocketSphinx
/// recognizes English, roughly.
package enum Speech {
  private static let espeak = Tool(name: "espeak-ng", package: "espeak-ng")
  private static let sphinx = Tool(name: "pocketsphinx_continuous", package: "pocketsphinx")

  /// A page that plays a sound holds it in its memory.
  private static let mostBytes = 10_000_000

  package static let isSpoken = espeak.path != nil
  /// The languages that are recognized.
  package static let recognized = sphinx.path == nil ? [] : ["en"]

  /// A text as a sound.
  ///
  /// - Parameter rate: how fast, of which 1 is as usual; from 0.5 to 2.
  /// - Throws: ``ToolError``; `CancellationError`.
  package static func wave(of text: String, in language: String, rate: Double) async throws -> Data
  {
    try await TemporaryFile.with("wav") { file in
      // In words a minute.
      let speed = "\(Int((175 * min(max(rate, 0.5), 2)).rounded()))"
      _ = try await run(espeak, ["-w", file.path, "-v", language, "-s", speed, "--", text])
      let sound = try Data(contentsOf: file)
      guard sound.count <= mostBytes else {
        throw ToolError(tool: espeak.name, reason: "makes a sound of over 10 MB of this text")
      }
      return sound
    }
  }

  /// How a text is pronounced, in the letters of the International Phonetic Alphabet.
  ///
  /// - Throws: as ``wave(of:in:rate:)``.
  package static func pronunciation(of text: String, in language: String) async throws -> String {
    try await run(espeak, ["-q", "--ipa", "-v", language, "--", text])
      .trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// What is said in a recording, empty where nothing is understood.
  ///
  /// - Parameter samples: a file of 16 bits each, the low byte first, one channel, 16,000 a second.
  /// - Throws: as ``wave(of:in:rate:)``.
  package static func words(in samples: URL) async throws -> String {
    try await run(sphinx, ["-infile", samples.path, "-logfn", "/dev/null"])
      .split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }

  private static func run(_ tool: Tool, _ words: [String]) async throws -> String {
    let (said, status) = try await tool.run(words, seconds: 120, complaints: false)
    guard status == 0 else { throw ToolError(tool: tool.name, reason: "ended with \(status)") }
    return said
  }
}
