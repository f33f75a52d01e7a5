import Foundation

/// Translates with the directions that are installed, each kept warm from its first use on.
public actor Apertium {
  public struct Result: Hashable, Sendable {
    public var text: String
    /// Which language it was translated from.
    public var source: String
    /// Which part of its words was known, from 0 to 1.
    public var confidence: Double
    /// Which program made it, with the direction as that calls it.
    public var engine: String
  }

  /// Debian's packages with the directions that this example counts on.
  public static let packages = ["apertium", "apertium-eng-spa", "apertium-fr-es"]
  /// The longest text, in bytes of UTF-8.
  public static let longestText = 64 << 10

  public nonisolated let pairs: [ApertiumPair]
  private var pipelines: [ApertiumPair: Pipeline] = [:]

  public init(pairs: [ApertiumPair] = ApertiumPair.installed()) { self.pairs = pairs }

  public nonisolated func pair(from source: String, to target: String) -> ApertiumPair? {
    pairs.first { $0.source == source && $0.target == target }
  }

  /// - Parameter source: `nil` for the language of which most words are known.
  /// - Throws: ``ApertiumError``.
  public func translate(
    _ text: String, from source: String?, to target: String
  ) async throws -> Result {
    guard text.utf8.count <= Self.longestText else {
      throw ApertiumError(.textTooLong, "the text has more than \(Self.longestText) bytes")
    }
    let wanted = pairs.filter { $0.target == target && $0.source == source ?? $0.source }
    guard !wanted.isEmpty else {
      let known = pairs.map { "\($0.source)-\($0.target)" }.joined(separator: ", ")
      throw ApertiumError(
        .noPair, "Apertium has no \(source ?? "language")-\(target) here; it has \(known)")
    }
    var best: Result?
    for pair in wanted {
      let (stream, hasStop) = ApertiumText.formatted(text)
      let (result, marked) = ApertiumText.plain(
        try await pipeline(pair).pass(stream), hasStop: hasStop)
      let confidence = Self.known(text, marked: marked)
      if best.map({ $0.confidence >= confidence }) ?? false { continue }
      best = Result(
        text: result, source: pair.source, confidence: confidence,
        engine: "apertium/\(pair.name)")
    }
    guard let best, source != nil || best.confidence > 0.3 else {
      throw ApertiumError(
        .unknownLanguage, "no language that Apertium translates into \(target) has these words")
    }
    return best
  }

  private func pipeline(_ pair: ApertiumPair) -> Pipeline {
    if let pipeline = pipelines[pair] { return pipeline }
    let pipeline = Pipeline(pair)
    pipelines[pair] = pipeline
    return pipeline
  }

  /// How often each direction's programs were started, and the id of their group.
  package var standings: [String: (started: Int, id: pid_t?)] {
    Dictionary(uniqueKeysWithValues: pipelines.map { ($0.name, $1.standing) })
  }

  /// Its dictionaries are of languages in Latin script, and pass by what is in another.
  private static func known(_ text: String, marked: Int) -> Double {
    let words = text.split { !$0.isLetter }
    if words.isEmpty { return 1 }
    let foreign = words.filter { $0.unicodeScalars.contains { $0.value > 0x24F } }.count
    return max(0, 1 - Double(marked + foreign) / Double(words.count))
  }
}
