import TernCore

extension RowExplanation: CustomStringConvertible {
  /// For people: a line a fact.
  public var description: String {
    var lines = [
      "\(table) \(key): \(standing)" + (generation == 0 ? "" : ", generation \(generation)")
    ]
    lines += deletes.map { "  delete by \($0.stamp): \($0.outcome)" }
    lines += survivedBy.map { "  kept by \($0)" }
    for column in columns {
      let value = column.value.map { " = \($0)" } ?? ""
      let author = column.stamp.map { "by \($0)" } ?? "not written in this generation"
      lines.append("  \(column.name)\(value), .\(column.rule): \(author)")
      lines += column.writes.filter { $0.outcome != .stands && !$0.content.isNothing }
        .map { "    \($0)" }
    }
    lines += deferred.map { "  \($0.name), not in this schema: \($0.writeCount) writes wait" }
    if pendingChanges > 0 { lines.append("  \(pendingChanges) changes wait in the log") }
    if isTooLarge { lines.append("  too large to travel as it was written here last") }
    return lines.joined(separator: "\n")
  }
}

extension RowExplanation.Standing: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unknown: "nothing is known of it"
    case .unsynced: "in the table and in no operation"
    case .shown: "shown"
    case .deleted(let stamp): "deleted by \(stamp)"
    case .folded(let rows):
      "shown, and folded into \(rows.map(\.description).joined(separator: ", "))"
    case .veiled(let rows):
      "shown without \(rows.map(\.description).joined(separator: ", "))"
    case .quarantined(let kind, let rows): "quarantined, because \(kind.reason(rows))"
    case .missing:
      "not in its table: deleted since the last seal, or taken by a migration or a trigger"
    }
  }
}

extension InboxKind {
  fileprivate func reason(_ rows: [RowExplanation.Reference]) -> String {
    switch self {
    case .displaced where rows.isEmpty: "a row created earlier has its place"
    case .displaced: "these rows, created earlier, have its place: \(rows)"
    case .orphaned, .parentMissing: "these rows are missing: \(rows)"
    case .refused: "a constraint of the table refuses it"
    case .incomplete: "its insert has not come"
    case .removal: "it is to go, and its table refuses to let it go"
    case .lastWriter, .sameKey, .deleteWins, .banned, .folded, .veiled: "it is \(rawValue)"
    }
  }
}

extension RowExplanation.Reference: CustomStringConvertible {
  public var description: String {
    "\(table) with " + zip(columns, values).map { "\($0) = \($1)" }.joined(separator: ", ")
  }
}

extension RowExplanation.Write: CustomStringConvertible {
  public var description: String {
    "\(content) by \(stamp)\(isConcurrent ? ", concurrent" : ""): \(outcome)"
  }
}

extension RowExplanation.Outcome: CustomStringConvertible {
  public var description: String {
    switch self {
    case .stands: "stands"
    case .counts: "counts"
    case .beaten(let reason): "beaten, \(reason)"
    }
  }
}

extension RowExplanation.Reason: CustomStringConvertible {
  public var description: String {
    switch self {
    case .later: "by a later write"
    case .extreme: "by an extreme"
    case .earlierEqual: "by an earlier write of the same"
    case .removed: "what it added was taken out"
    case .added: "what it took out was added elsewhere"
    case .deleted: "by the delete"
    case .changed: "by a change"
    }
  }
}
