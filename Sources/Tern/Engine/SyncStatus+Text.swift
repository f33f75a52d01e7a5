extension SyncStatus.Moment: CustomStringConvertible {
  /// For people, in a line: the phase, and what there is something of.
  public var description: String {
    var parts = [phase.rawValue]
    parts.add(unpushed, "to push")
    parts.add(pushed, "pushed")
    parts.add(pulled, "pulled")
    parts.add(quarantined, "quarantined")
    parts.add(largeRows)
    parts.add(skippedTriggers)
    if !pending.isEmpty { parts.append("\(pending)") }
    parts.add(forks)
    if !differingTables.isEmpty { parts.append("tables that differ: \(differingTables)") }
    parts.add(repairs, "repairs")
    if let idChange { parts.append("its id is \(idChange.current), and was \(idChange.former)") }
    // What the way there takes is no news.
    if let clockOffset, !(.seconds(-1) ... .seconds(1) ~= clockOffset) {
      parts.append("the remote's clock is ahead by \(clockOffset)")
    }
    if let lastError { parts.append("last error: \(lastError)") }
    return parts.joined(separator: ", ")
  }
}

extension ReplicaCounts: CustomStringConvertible {
  /// For people, in a line: what there is something of.
  public var description: String {
    var parts = ["\(operations) operations"]
    parts.add(unsealedChanges, "writes to seal")
    parts.add(quarantined, "quarantined rows")
    parts.add(largeRows)
    parts.add(skippedTriggers)
    parts.add(openReferences)
    if !pending.isEmpty { parts.append("\(pending)") }
    parts.add(forks)
    for kind in ConflictKind.allCases {
      parts.add(conflicts[kind] ?? 0, "conflicts by \(kind)")
    }
    return parts.joined(separator: ", ")
  }
}

extension [String] {
  fileprivate mutating func add(_ count: Int, _ what: String) {
    if count > 0 { append("\(count) \(what)") }
  }

  fileprivate mutating func add(_ largeRows: [String: Int]) {
    for (table, count) in largeRows.sorted(by: { $0.key < $1.key }) {
      add(count, "rows of “\(table)” too large to travel")
    }
  }

  fileprivate mutating func add(_ triggers: [SkippedTrigger]) {
    if triggers.isEmpty { return }
    let names = triggers.map { "“\($0.name)”" }.joined(separator: ", ")
    append("triggers that don't run for merged rows: \(names)")
  }

  fileprivate mutating func add(_ references: [String]) {
    if references.isEmpty { return }
    append("references without an action: \(references.joined(separator: "; "))")
  }

  fileprivate mutating func add(_ forks: [ReplicaFork]) {
    if !forks.isEmpty { append("forks: \(forks)") }
  }
}
