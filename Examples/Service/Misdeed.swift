/// What a service does wrong on request, so that a client can be tested.
public struct Misdeed<Kind: MisdeedKind>: Hashable, Sendable {
  public var kind: Kind
  /// What it means depends on the kind.
  public var value: Int?
  /// How often it happens; `nil` for ever.
  public var count: Int?

  /// Reads `kind[=value][:count]`, several of them with commas in between.
  ///
  /// - Throws: ``MisdeedError``.
  public static func list(_ text: String) throws(MisdeedError) -> [Misdeed] {
    var list: [Misdeed] = []
    for item in text.split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
      let counted = item.split(separator: ":", omittingEmptySubsequences: false)
      let valued = counted[0].split(separator: "=", omittingEmptySubsequences: false)
      guard let kind = Kind(rawValue: String(valued[0])), counted.count <= 2, valued.count <= 2,
        let value = number(valued), let count = number(counted)
      else { throw MisdeedError(text: String(item), kinds: Kind.allCases.map(\.rawValue)) }
      list.append(Misdeed(kind: kind, value: value, count: count))
    }
    return list
  }

  /// The number after the first part; `nil` when there is something else.
  private static func number(_ parts: [Substring]) -> Int?? {
    guard parts.count == 2 else { return .some(nil) }
    guard let number = Int(parts[1]), number > 0 else { return nil }
    return number
  }
}

/// The names under which a service's misdeeds are asked for.
public protocol MisdeedKind: RawRepresentable<String>, CaseIterable, Hashable, Sendable {}

public struct MisdeedError: Error, Hashable, Sendable, CustomStringConvertible {
  let text: String
  let kinds: [String]

  public var description: String {
    "'\(text)' is no misbehaviour; write KIND[=VALUE][:COUNT] with one of "
      + kinds.joined(separator: ", ")
  }
}
