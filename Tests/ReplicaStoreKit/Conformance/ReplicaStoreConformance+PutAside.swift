import Rehearsals
import Tern
import TernTesting

extension ReplicaStoreConformance {
  func checkUnreadable() throws {
    let a = try StoreUnderTest(self, 1)
    let good = try a.commit(.insert(["id": "1", "name": "A"]))
    let later = try a.commit(.insert(["id": "2", "name": "B", "count": 2]))
    let body = Array(good[0].bytes[good[0].bodyOffset...])
    let time = later[0].envelope.time
    for cut in (1..<body.count).rehearsed(oneOf: 5) {
      try checkPutAside(
        good, [operation(1, time, Array(body[..<cut]))],
        then: operation(2, time.next(atMilliseconds: 0), later),
        "a body cut after \(cut) bytes")
    }
    try checkPutAside(
      good, [operation(1, time, counterBody())],
      then: operation(2, time.next(atMilliseconds: 0), later), "a counter's text")
    let fragments = [
      operation(1, time, later, continues: true), operation(2, time, [1], continues: true),
      operation(3, time, good),
    ]
    try checkPutAside(
      good, fragments, then: operation(4, time.next(atMilliseconds: 0), later),
      "a group with one unreadable fragment")
  }

  private static let author = ReplicaID.numbered(4)

  private func operation(
    _ sequence: UInt64, _ time: HybridTime, _ body: [UInt8], continues: Bool = false
  ) -> SyncOperation {
    SyncOperation(
      .init(
        replica: Self.author, sequence: sequence, time: time, schemaVersion: 3,
        continues: continues), body: body)
  }

  private func operation(
    _ sequence: UInt64, _ time: HybridTime, _ like: [SyncOperation], continues: Bool = false
  ) -> SyncOperation {
    operation(sequence, time, Array(like[0].bytes[like[0].bodyOffset...]), continues: continues)
  }

  /// A row whose counter adds text: a body that reads well until then.
  private func counterBody() -> [UInt8] {
    var body = ByteWriter()
    let count = BodyBlock.Column(name: "count", rule: MergeRule.counter.kind.rawValue)
    body.append(block: BodyBlock(table: "item", keyColumns: ["id"], columns: [count]))
    body.append(row: .insert, life: 1)
    body.append(SQLiteValue.text(Array("9".utf8)))
    body.append(SQLiteValue.text(Array("many".utf8)))
    body.appendEndOfBlock()
    return body.bytes
  }

  /// Merges a readable group, one that is not, and one by the same author after it; at once, and
  /// one by one in another order.
  private func checkPutAside(
    _ good: [SyncOperation], _ bad: [SyncOperation], then last: SyncOperation, _ what: String
  ) throws {
    let (b, c, d) = (
      try StoreUnderTest(self, 2), try StoreUnderTest(self, 3), try StoreUnderTest(self, 5)
    )
    let summary = try b.merge(good + bad + [last], cursor: "after")
    try requireEqual(.limitsHold, summary.groupsPutAside, 1, "groups put aside of \(what)")
    try requireEqual(
      .cursorFollowsState, try b.store.place(at: StoreUnderTest.remoteID)?.cursor?.rawValue,
      "after",
      "the cursor after \(what)")
    for operation in bad + [last] + good { try c.merge([operation]) }
    try d.merge(b.all())
    for peer in [b, c, d] {
      let counts = try peer.store.counts()
      try requireEqual(
        .cursorFollowsState, counts.pending[.unreadable], 1, "groups put aside: \(what)")
      try requireEqual(
        .cursorFollowsState, counts.pending.first?.sequence, bad.last!.envelope.sequence,
        "the operation that is put aside: \(what)")
      try requireEqual(
        .operationsAreAtomic, try peer.store.canonicalState().map(\.key), [["1"], ["2"]],
        "rows beside \(what)")
      try requireEqual(
        .acknowledgedIsStored, try peer.store.versionVector()[Self.author],
        last.envelope.sequence, "what is known of the author of \(what)")
      try require(
        .acknowledgedIsStored,
        try peer.all().filter { $0.envelope.replica == Self.author }
          == bad + [last], "\(what) is not passed on as it came")
      try peer.requireState(of: b, "beside \(what)")
    }
    let again = try b.merge(bad + [last])
    try requireEqual(
      .convergence, again.repeatedOperations, bad.count + 1, "repeats after \(what)")
  }
}
