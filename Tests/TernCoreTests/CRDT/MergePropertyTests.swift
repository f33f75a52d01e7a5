import SeededRandom
import TernCore
import Testing

@Suite("CRDT: rows whose operations come in any order")
struct MergePropertyTests {
  @Test(arguments: 0..<400)
  func `every order makes the state that the rules say (INV-01, INV-07)`(_ seed: Int) throws {
    let history = try RowHistory(seed: UInt64(seed))
    let expected = history.expected()
    var generator = SeededGenerator(seed: ~UInt64(seed))
    for receiver in 0..<8 {
      var replica = RowReplica(receiver, deletes: history.deletes)
      for event in history.shuffled(using: &generator) {
        try replica.merge(event)
        #expect(replica.abnormalities() == [])
      }
      #expect(RowReplica.differences(replica.canonical, expected) == [])
    }
  }

  @Test(arguments: 0..<100)
  func `repeats of what stamps decide change nothing`(_ seed: Int) throws {
    let history = try RowHistory(seed: UInt64(seed))
    var replica = RowReplica(0, deletes: history.deletes)
    for event in history.events { try replica.merge(event) }
    let once = replica.states
    for var event in history.events {
      // A store never merges an operation twice, and counters rely on that.
      event.columns.removeAll { RowReplica.rules[$0.column] == .counter }
      try replica.merge(event)
    }
    #expect(replica.states == once)
  }

  @Test(arguments: 0..<200)
  func `stored cells read back as they were`(_ seed: Int) throws {
    let history = try RowHistory(seed: UInt64(seed))
    var replica = RowReplica(0, deletes: history.deletes)
    for event in history.events { try replica.merge(event) }
    #expect(!replica.states.isEmpty)
    for state in replica.states.values {
      var writer = ByteWriter()
      state.appendCells(to: &writer)
      #expect(try writer.bytes.withUnsafeBytes { try RowState.readCells($0) } == state.cells)
    }
  }

  @Test func `sums beyond 64 bits are stored`() throws {
    let stamp = Stamp(time: HybridTime(rawValue: 9), author: 3)
    for number in [Int128(Int64.max) + 1, .min, .max, 0, -1] {
      var state = RowState(life: 1)
      state.set(.counter(CounterSum(base: number), stamp), of: 4)
      var sum = CounterSum()
      sum[7] = number == 0 ? 9 : number
      sum[3] = 1
      state.set(.counter(sum, stamp), of: 5)
      var writer = ByteWriter()
      state.appendCells(to: &writer)
      #expect(try writer.bytes.withUnsafeBytes { try RowState.readCells($0) } == state.cells)
    }
  }

  @Test func `an insert that knows every column needs no cell`() throws {
    let authors = Authors([RowReplica.id(1)])
    let stamp = Stamp(time: HybridTime(rawValue: 5), author: 0)
    var state = RowState(life: 0)
    _ = state.begin(RowChange(kind: .insert, life: 1, stamp: stamp, sequence: 1), authors: authors)
    for column in 0..<4 {
      _ = try state.mergeColumn(
        UInt32(column), rule: .lastWriter, value: WireValue(.null), stamp: stamp,
        turn: Turn(1), authors: authors)
    }
    state.finishInsert(
      stamp, rules: Array(repeating: .lastWriter, count: 4), authors: authors)
    #expect(state == .inserted(life: 1, stamp: stamp, columnCount: 4))
  }

  @Test func `the last write counts against a delete, though an extreme hides it`() throws {
    // A greater value came earlier: the column's stamp goes down.
    var writer = (ByteWriter(), ByteWriter())
    writer.0.append(5 as SQLiteValue)
    writer.1.append(9 as SQLiteValue)
    func event(_ time: UInt64, _ author: Int, _ kind: RowChange.Kind, _ value: [UInt8]?) -> RowEvent
    {
      RowEvent(
        author: author, time: time, sequence: time, row: 0, kind: kind,
        life: kind == .delete ? 2 : 1, columns: value.map { [(3, $0)] } ?? [])
    }
    let insert = event(1, 0, .insert, nil)
    let (late, early) = (
      event(10, 1, .update, writer.0.bytes), event(3, 2, .update, writer.1.bytes)
    )
    let delete = event(5, 3, .delete, nil)
    for order in [
      [insert, late, early, delete], [insert, early, late, delete], [delete, late, early, insert],
      [insert, delete, late, early],
    ] {
      var replica = RowReplica(9, deletes: .lastWriter)
      for event in order { try replica.merge(event) }
      #expect(replica.states[0]?.isShown == true)
    }
  }

  @Test func `a row that many replicas deleted is read back`() throws {
    var state = RowState(life: 0)
    let authors = Authors([RowReplica.id(1)])
    for part in UInt64(0)..<3 {
      let covered = VersionVector(
        Dictionary(
          uniqueKeysWithValues: (0..<6000).map { (ReplicaID(high: part, low: $0), 1 as UInt64) }))
      let change = RowChange(
        kind: .delete, life: 2, stamp: Stamp(time: HybridTime(rawValue: part + 1), author: 0),
        sequence: part + 1, covered: covered)
      _ = state.begin(change, deletes: .updateWins, authors: authors)
      state.settle(.updateWins, after: change, authors: authors)
    }
    var writer = ByteWriter()
    state.appendCells(to: &writer)
    #expect(try writer.bytes.withUnsafeBytes { try RowState.readCells($0) } == state.cells)
  }
}
