/// Of whom a replica has other operations than some remote, as it tells all others.
///
/// It travels as the heading of a block without rows: a reader that does not know it finds nothing
/// to merge there, and an app can't have a table of that name. The newest notice of a replica takes
/// the place of those before.
package struct ForkNotice: Hashable, Sendable {
  /// By author the first number under which there are two operations.
  package let sequences: [ReplicaID: UInt64]

  private static let table = "grdb_tern_forks"
  private static let keyColumn = "replica"

  package init(_ sequences: [ReplicaID: UInt64]) {
    self.sequences = sequences
  }

  /// `nil` for every other block. A name that says nothing here is passed over.
  package init?(_ block: BodyBlock) {
    guard block.table == Self.table else { return nil }
    let named = block.columns.compactMap { column -> (ReplicaID, UInt64)? in
      let words = column.name.split(separator: " ")
      guard words.count == 2, let replica = ReplicaID(String(words[0])),
        let sequence = UInt64(words[1]), (1...VersionVector.maximumSequence).contains(sequence)
      else { return nil }
      return (replica, sequence)
    }
    sequences = Dictionary(named, uniquingKeysWith: min)
  }

  /// As an operation's body; of more than fit, the first by their ids.
  package var body: [UInt8] {
    let columns = sequences.sorted { $0.key < $1.key }.prefix(BodyLimit.columns).map {
      BodyBlock.Column(name: "\($0.key) \($0.value)", rule: MergeRule.Kind.lastWriter.rawValue)
    }
    var writer = ByteWriter()
    writer.append(
      block: BodyBlock(table: Self.table, keyColumns: [Self.keyColumn], columns: columns))
    writer.appendEndOfBlock()
    return writer.bytes
  }
}
