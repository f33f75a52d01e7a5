import TernCore
import Testing

@Suite("Operation: what a replica tells of forks")
struct ForkNoticeTests {
  private let sequences = [
    ReplicaID(high: 0, low: 1): 7, ReplicaID(high: .max, low: 2): VersionVector.maximumSequence,
  ]

  private func operation(_ body: [UInt8]) -> SyncOperation {
    SyncOperation(
      .init(replica: ReplicaID(high: 1, low: 1), sequence: 1, time: HybridTime(milliseconds: 1)),
      body: body)
  }

  private func notices(in operation: SyncOperation) throws -> [ForkNotice?] {
    var notices: [ForkNotice?] = []
    try operation.forEachBlock { block, reader in
      notices.append(ForkNotice(block))
      var row = BodyRow()
      let hasRow = try reader.nextRow(&row, of: block)
      #expect(!hasRow)
    }
    return notices
  }

  /// Never another one: it travels.
  @Test func `it is the heading of a block without rows`() throws {
    let names = [
      "00000000000000000000000000000001 7", "ffffffffffffffff0000000000000002 1099511627775",
    ]
    var expected: [UInt8] = [15] + Array("grdb_tern_forks".utf8) + [0, 1, 7]
    expected += Array("replica".utf8) + [2]
    for name in names { expected += [UInt8(name.utf8.count)] + Array(name.utf8) + [0] }
    expected.append(3)
    #expect(ForkNotice(sequences).body == expected)
  }

  @Test func `it reads as it was written, and an empty one too`() throws {
    for notice in [ForkNotice(sequences), ForkNotice([:])] {
      let operation = operation(notice.body)
      #expect(operation.bodyError() == nil)
      #expect(try notices(in: operation) == [notice])
    }
  }

  @Test func `more than fit are left out`() throws {
    let many = Dictionary(
      uniqueKeysWithValues: (1...3000).map { (ReplicaID(high: 1, low: $0), $0) })
    let operation = operation(ForkNotice(many).body)
    #expect(operation.bodyError() == nil)
    #expect(try notices(in: operation).first??.sequences == many.filter { $0.value <= 2000 })
  }

  @Test func `other tables tell nothing, and what can't be read is passed over`() throws {
    let good = "00000000000000000000000000000001 7"
    let names = [
      good, "", "7", "00000000000000000000000000000002", "00000000000000000000000000000003 0",
      "00000000000000000000000000000004 x", "00000000000000000000000000000005 1099511627776",
      "0000000000000000000000000000000g 1", "00000000000000000000000000000006 1 1",
    ]
    let columns = names.map { BodyBlock.Column(name: $0, rule: 0) }
    let block = BodyBlock(table: "grdb_tern_forks", keyColumns: ["replica"], columns: columns)
    #expect(ForkNotice(block)?.sequences == [ReplicaID(high: 0, low: 1): 7])
    #expect(ForkNotice(BodyBlock(table: "item", keyColumns: ["id"], columns: columns)) == nil)
  }
}
