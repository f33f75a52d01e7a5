import TernCore
import TernTesting
import Testing

@Suite struct MergePropertyTests {
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
    for state in replica.states.values {
      var writer = ByteWriter()
      state.appendCells(to: &writer)
      #expect(try writer.bytes.withUnsafeBytes { try RowState.readCells($0) } == state.cells)
    }
  }

  @Test func `sums beyond 64 bits are stored`() throws {
    let stamp = Stamp(time: HybridTime(rawValue: 9), author: 3)
    for sum in [Int128(Int64.max) + 1, .min, .max, 0, -1] {
      var state = RowState(life: 1)
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
        sequence: 1, authors: authors)
    }
    state.finishInsert(
      stamp, rules: Array(repeating: .lastWriter, count: 4), authors: authors)
    #expect(state == .inserted(life: 1, stamp: stamp, columnCount: 4))
  }
}
