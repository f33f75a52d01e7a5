import ReplicaStoreKit
import Tern
import Testing

/// Of what one operation may hold: as much as its limit says is merged, and one more puts it aside by
/// name, while what came beside it is merged and passed on.
@Suite("Merge: how much an operation may hold", .timeLimit(.minutes(5)))
struct HostileLimitTests {
  /// Something of which an operation holds so many.
  struct Bounded: CustomTestStringConvertible {
    let testDescription: String
    let limit: Int
    /// Of one that is over it.
    let reason: String
    /// Whether the table has it; what it has not waits for a newer app.
    var isKnown = true
    let operation: @Sendable (inout Forger, Int) -> SyncOperation
  }

  private static let author = ReplicaID(high: 0xFACE, low: 0)

  private static func replica(_ number: Int) -> ReplicaID {
    ReplicaID(high: 0xFACE, low: UInt64(number) + 1)
  }

  /// So many replicas, each with its first operation.
  private static func vector(_ count: Int) -> VersionVector {
    VersionVector(Dictionary(uniqueKeysWithValues: (0..<count).map { (replica($0), 1) }))
  }

  private static func set(_ forger: inout Forger, _ change: SetChange) -> SyncOperation {
    forger.row(
      Forger.packed(.blob(change.bytes)), columns: [("tags", MergeRule.Kind.set.rawValue)])
  }

  /// An edit's bytes, with what they hold written by `build`.
  private static func text(
    _ forger: inout Forger, _ build: (inout ByteWriter) -> Void
  ) -> SyncOperation {
    var writer = ByteWriter()
    writer.append(byte: 1)
    build(&writer)
    return forger.row(
      Forger.packed(.blob(writer.bytes)), columns: [("body", MergeRule.Kind.text.rawValue)])
  }

  static let bounded: [Bounded] = [
    Bounded(
      testDescription: "columns", limit: BodyLimit.columns,
      reason: "column count is over its limit", isKnown: false
    ) { forger, count in
      forger.row(
        [UInt8](repeating: 0, count: count), columns: (0..<count).map { ("c\($0)", 0) })
    },
    Bounded(
      testDescription: "names of tables and columns", limit: BodyLimit.names,
      reason: "name count is over its limit", isKnown: false
    ) { forger, count in
      forger.write {
        for number in 0..<count / 2 {
          // Two names, and one more where the count is odd.
          let columns = number == 0 && count % 2 == 1 ? [BodyBlock.Column(name: "c", rule: 0)] : []
          $0.append(block: BodyBlock(table: "t\(number)", keyColumns: ["id"], columns: columns))
          if number == 0 {
            $0.append(row: .delete, life: 2)
            $0.append(raw: Forger.packed("forged"))
          }
          $0.appendEndOfBlock()
        }
      }
    },
    Bounded(
      testDescription: "columns of a key", limit: BodyLimit.keyColumns,
      reason: "key column count is malformed", isKnown: false
    ) { forger, count in
      let key = (0..<count).flatMap { _ in Forger.packed(1) }
      return forger.row([0], keys: (0..<count).map { "k\($0)" }, key: key)
    },
    Bounded(
      testDescription: "lives of a row", limit: Int(BodyLimit.life), reason: "row is malformed"
    ) { forger, life in
      forger.write {
        $0.append(block: BodyBlock(table: "item", keyColumns: ["id"], columns: []))
        $0.append(row: life.isMultiple(of: 2) ? .delete : .insert, life: UInt32(life))
        $0.append(raw: Forger.packed("forged"))
        $0.appendEndOfBlock()
      }
    },
    Bounded(
      testDescription: "replicas whose writes a delete covers", limit: SyncOperation.Limit.seen,
      reason: "covered writes count is over its limit"
    ) { forger, count in
      forger.write {
        let rule = DeleteRule.updateWins.kind.rawValue
        $0.append(block: BodyBlock(table: "kept", deletes: rule, keyColumns: ["id"], columns: []))
        $0.append(row: .delete, life: 2)
        $0.append(raw: Forger.packed("forged"))
        $0.append(vector(count))
        $0.appendEndOfBlock()
      }
    },
    Bounded(
      testDescription: "elements that are added to a set", limit: ElementSet.Limit.elements,
      reason: "set elements is over its limit"
    ) { forger, count in
      set(&forger, SetChange(added: (0..<count).map { .integer(Int64($0)) }))
    },
    Bounded(
      testDescription: "elements that are taken out of a set", limit: ElementSet.Limit.elements,
      reason: "set entries is over its limit"
    ) { forger, count in
      let seen = VersionVector([author: 1])
      return set(
        &forger,
        SetChange(added: [], removed: (0..<count).map { .init(.integer(Int64($0)), seen) }))
    },
    Bounded(
      testDescription: "replicas that a set's change names", limit: SyncOperation.Limit.seen,
      reason: "set replicas is over its limit"
    ) { forger, count in
      set(&forger, SetChange(added: [], removed: [.init(1, vector(count))]))
    },
    Bounded(
      testDescription: "replicas that a text's change names", limit: SyncOperation.Limit.seen,
      reason: "text replicas is over its limit"
    ) { forger, count in
      text(&forger) { writer in
        writer.append(varint: UInt64(count))
        for number in 0..<count { writer.append(replica: replica(number)) }
        writer.append(varint: UInt64(count))
        for number in 0..<count {
          for field in [number, 1, 0, 1] { writer.append(varint: UInt64(field)) }
        }
        writer.append(varint: 0)
      }
    },
    Bounded(
      testDescription: "runs that are inserted into a text", limit: TextChange.Limit.insertions,
      reason: "text insertions is over its limit"
    ) { forger, count in
      text(&forger) { writer in
        for field in [0, 0, count] { writer.append(varint: UInt64(field)) }
        // Each a child of the text's beginning, and a letter long.
        for _ in 0..<count {
          for field in [0, 1] { writer.append(varint: UInt64(field)) }
        }
        writer.append(raw: [UInt8](repeating: 65, count: count))
      }
    },
  ]

  /// Runs that are removed: what one more of them does. As many as may be are read in
  /// `ReadLimitTests`, in a fraction of the time.
  private static let removals = Bounded(
    testDescription: "runs that are removed from a text", limit: TextChange.Limit.removals,
    reason: "text removals is over its limit"
  ) { forger, count in
    text(&forger) { writer in
      writer.append(varint: 1)
      writer.append(replica: author)
      writer.append(varint: UInt64(count))
      // A letter each, and one between them.
      for number in 0..<count {
        for field in [0, 1, 2 * number, 1] { writer.append(varint: UInt64(field)) }
      }
      writer.append(varint: 0)
    }
  }

  @Test(arguments: ReplicaStoreKind.allCases, bounded)
  func `as much as its limit allows is merged`(
    _ kind: ReplicaStoreKind, _ bounded: Bounded
  ) async throws {
    let meeting = try await HostileMeeting(kind)
    var forger = Forger()
    let full = bounded.operation(&forger, bounded.limit)
    let beside = forger.row(Forger.packed("good"), key: Forger.packed("beside"))
    try await meeting.sync(with: ScriptedRemote(giving: [full, beside]))
    let counts = try meeting.store.counts()
    #expect(counts.pending[.unreadable] == 0, "\(counts.pending.first?.detail ?? "")")
    #expect(counts.pending[.schema] == (bounded.isKnown ? 0 : 1))
    #expect(try meeting.store.versionVector()[Forger.id] == 2)
    try await meeting.checkIntact()
  }

  @Test(arguments: ReplicaStoreKind.allCases, bounded + [removals])
  func `one over a limit is put aside by name, and what is beside it is merged`(
    _ kind: ReplicaStoreKind, _ bounded: Bounded
  ) async throws {
    let meeting = try await HostileMeeting(kind)
    var forger = Forger()
    let over = bounded.operation(&forger, bounded.limit + 1)
    let beside = forger.row(Forger.packed("good"), key: Forger.packed("beside"))
    try await meeting.sync(with: ScriptedRemote(giving: [over, beside]))
    let counts = try meeting.store.counts()
    #expect(counts.pending[.unreadable] == 1)
    #expect(counts.pending.first?.sequence == 1)
    #expect(counts.pending.first?.detail == bounded.reason)
    let state = try meeting.store.canonicalState()
    #expect(!state.contains { $0.key == ["forged"] })
    #expect(state.first { $0.key == ["beside"] }?.cells["name"]?.value == "good")
    try await meeting.checkIntact()
  }
}
