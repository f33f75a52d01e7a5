import TernCore

/// What travelled of one column.
public enum WriteContent: Hashable, Sendable {
  /// The value that was written.
  case value(SQLiteValue)
  /// Of a counter: what was added; in an insert, the number that the row began with.
  case difference(Int128)
  /// Of a set: the elements that were added and those that were taken out, each in SQLite's order.
  case set(added: [SQLiteValue], removed: [SQLiteValue])
  /// Of a text: the runs that were inserted, and how many Unicode scalars were removed.
  case text(inserted: [String], removed: Int)
}

extension WriteContent {
  /// - Parameter rule: the author's, as it travels.
  /// - Throws: ``WireError``.
  init(_ value: WireValue, rule: UInt8) throws {
    if rule == MergeRule.Kind.set.rawValue {
      let change = try SetChange(value.content)
      self = .set(added: change.added, removed: change.removed.map(\.element))
    } else if rule == MergeRule.Kind.text.rawValue {
      self = .text(try TextChange(value.content))
    } else if rule != MergeRule.Kind.counter.rawValue, let value = value.value {
      self = .value(value)
    } else if let number = value.wide {
      self = .difference(number)
    } else {
      throw WireError(.malformed, "counter")
    }
  }
}

extension WriteContent {
  private static func text(_ change: TextChange) -> WriteContent {
    switch change {
    case .initial(let text):
      return .text(
        inserted: text.isEmpty ? [] : [String(decoding: text, as: UTF8.self)], removed: 0)
    case .edit(let edit):
      var start = 0
      let inserted = edit.inserted.map { run in
        defer { start += Int(run.byteCount) }
        let end = start + Int(run.byteCount)
        return String(decoding: edit.text[start..<end], as: UTF8.self)
      }
      return .text(inserted: inserted, removed: edit.removed.reduce(0) { $0 + Int($1.count) })
    }
  }
}

extension WriteContent: CustomStringConvertible {
  public var description: String {
    switch self {
    case .value(let value): "\(value)"
    case .difference(let number): number < 0 ? "\(number)" : "+\(number)"
    case .set(let added, let removed):
      Self.list(
        added.isEmpty ? nil : "added \(added)", removed.isEmpty ? nil : "took out \(removed)")
    case .text(let inserted, let removed):
      Self.list(
        inserted.isEmpty ? nil : "inserted \(inserted)",
        removed == 0 ? nil : "removed \(removed) scalars")
    }
  }

  private static func list(_ parts: String?...) -> String {
    let parts = parts.compactMap { $0 }
    return parts.isEmpty ? "nothing" : parts.joined(separator: ", ")
  }

  /// Whether it leaves the column as it is, as of what an insert left at its beginning.
  var isNothing: Bool {
    switch self {
    case .value: false
    case .difference(let number): number == 0
    case .set(let added, let removed): added.isEmpty && removed.isEmpty
    case .text(let inserted, let removed): inserted.isEmpty && removed == 0
    }
  }
}
