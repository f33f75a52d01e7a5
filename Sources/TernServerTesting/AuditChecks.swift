#if Server
import TernCore
import TernServer
import TernTesting

/// What a store keeps of operators' changes.
enum AuditChecks {
  private static func entry(_ number: Int, _ space: StoreSpace) -> AuditEntry {
    AuditEntry(
      actor: AuditActor(stored: "operator:ada"), action: .setQuota, space: space.name,
      time: .at(number), details: ["number": "\(number)", "text": "\"\u{1F426} and\\n"])
  }

  static func checkAudit(_ space: StoreSpace) throws {
    let (store, beside) = (space.store, try space.beside())
    try requireEqual(
      .operationsAreAtomic, try store.auditRecords(after: 0, of: nil, atMost: 9), [], "at first")
    let owners = [space, beside, space, space, beside]
    let expected = owners.enumerated().map { index, owner in
      AuditRecord(number: UInt64(index) + 1, entry(index, owner))
    }
    // Two of them in one transaction.
    try space.update { try $0.audit.add(expected[0].entry, keeping: 9) }
    try beside.update { try $0.audit.add(expected[1].entry, keeping: 9) }
    try space.update { transaction in
      for record in expected[2...3] { try transaction.audit.add(record.entry, keeping: 9) }
    }
    try beside.update { try $0.audit.add(expected[4].entry, keeping: 9) }
    func records(after number: UInt64 = 0, of name: SpaceName? = nil, _ count: Int = 9) throws
      -> [AuditRecord]
    {
      try store.auditRecords(after: number, of: name, atMost: count)
    }
    try requireEqual(.acknowledgedIsStored, try records(), expected, "all records")
    try requireEqual(
      .acknowledgedIsStored, try records(after: 1, 2), Array(expected[1...2]), "a page of them")
    try requireEqual(
      .spacesAreApart, try records(of: beside.name), [expected[1], expected[4]], "one space's")
    try requireEqual(
      .spacesAreApart, try records(after: 2, of: beside.name), [expected[4]], "its next page")
    try requireEqual(.acknowledgedIsStored, try records(after: 5), [], "those behind the newest")
    try requireEqual(.acknowledgedIsStored, try records(after: .max), [], "those behind all")
  }

  static func checkAuditRemoval(_ space: StoreSpace) throws {
    let store = space.store
    let (made, removed) = (entry(1, space), entry(2, space))
    try space.update { try $0.audit.add(made, keeping: 9) }
    _ = try store.removeSpace(space.name, recording: removed, keeping: 9)
    // There is nothing to remove any more.
    _ = try store.removeSpace(space.name, recording: removed, keeping: 9)
    try space.drain("removing what a space held") {
      try store.removeRemains(rows: 9, contentBytes: 1 << 20)
    }
    let records = try store.auditRecords(after: 0, of: space.name, atMost: 9)
    try requireEqual(
      .acknowledgedIsStored, records,
      [AuditRecord(number: 1, made), AuditRecord(number: 2, removed)], "after the removal")
  }

  static func checkAuditBound(_ space: StoreSpace) throws {
    let beside = try space.beside()
    for number in 1...6 {
      let entry = entry(number, number % 2 == 0 ? space : beside)
      try space.update { try $0.audit.add(entry, keeping: 3) }
    }
    func numbers() throws -> [UInt64] {
      try space.store.auditRecords(after: 0, of: nil, atMost: 9).map(\.number)
    }
    try requireEqual(.limitsHold, try numbers(), [4, 5, 6], "the newest of six records")
    _ = try space.store.removeSpace(space.name, recording: entry(7, space), keeping: 1)
    try requireEqual(.limitsHold, try numbers(), [7], "the newest one")
  }
}
#endif
