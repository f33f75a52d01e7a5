import TernCore

/// What travelled of one column.
public enum WriteContent: Hashable, Sendable {
  /// The value that was written.
  case value(Value)
  /// Of a counter: what was added; in an insert, the number that the row began with.
  case difference(Int128)
  /// Of a set: the elements that were added and those that were taken out, each in SQLite's order.
  case set(added: [Value], removed: [Value])
}

extension WriteContent {
  /// - Parameter rule: the author's, as it travels.
  /// - Throws: ``WireError``.
  init(_ value: WireValue, rule: UInt8) throws {
    if rule == MergeRule.Kind.set.rawValue {
      let change = try SetChange(value.content)
      self = .set(added: change.added, removed: change.removed.map(\.element))
    } else if rule != MergeRule.Kind.counter.rawValue, let value = value.value {
      self = .value(value)
    } else if let number = value.wide {
      self = .difference(number)
    } else {
      throw WireError(.malformed, "counter")
    }
  }
}

extension WriteContent: CustomStringConvertible {
  public var description: String {
    switch self {
    case .value(let value): "\(value)"
    case .difference(let number): number < 0 ? "\(number)" : "+\(number)"
    case .set(let added, let removed): "added \(added), took out \(removed)"
    }
  }
}
