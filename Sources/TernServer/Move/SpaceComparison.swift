#if Server
import TernCore

/// Whether operations follow those before them, each with the digest of its bytes.
///
/// What was copied before is vouched for by the chain up to there, which is in the target. So at
/// its end the chain stands for the bytes of every operation that still has some.
struct OperationLinks {
  let space: SpaceName
  /// The position before them.
  let start: Int64
  /// The chain up to there.
  let chain: [UInt8]?

  /// - Throws: ``SpaceMoveError``.
  func check(_ operations: [[StoredValue]]) throws {
    var (position, chain) = (start, chain.map { ChainDigest(stored: $0) })
    for row in operations {
      position += 1
      guard row[0].integer == position, let digest = row[3].bytes, let bytes = row[5].bytes,
        bytes.isEmpty || sha256(bytes) == digest
      else { throw damaged(position) }
      let link = ChainDigest(after: chain, OperationDigest(stored: digest))
      guard link.bytes == row[4].bytes else { throw damaged(position) }
      chain = link
    }
  }

  private func damaged(_ position: Int64) -> SpaceMoveError {
    SpaceMoveError(
      .damaged,
      "space \(space): the operation at position \(position) is not there, or is not what its digest "
        + "and the chain say; see 'tern doctor'")
  }
}

/// Compares a frozen space with its copy.
struct SpaceComparison {
  let move: SpaceMove

  /// - Throws: ``SpaceMoveError``.
  func check() throws {
    let (here, there) = (try picture(of: move.source), try picture(of: move.target))
    for (what, content) in here where there[what] != content {
      throw SpaceMoveError(
        .differs,
        "space \(move.space): what was copied to '\(what)' is not what there is; nothing is lost. Run "
          + "the move again, and if that says the same, 'tern doctor' on both stores")
    }
  }

  /// What a store has of the space, by its tables: rows where those are few. Of operations the
  /// chain, which follows from all that have bytes.
  private func picture(of store: any MovableStore) throws -> [String: [[StoredValue]]] {
    let picture = try store.readRows(of: move.space) { rows in
      var picture: [String: [[StoredValue]]] = [:]
      for table in [SpaceTable.space] + SpaceTable.small {
        picture[table.name] = try rows.rows(of: table)
      }
      let end = picture["space"]?.first?.first?.integer ?? 0
      picture["operation"] = [[StoredValue(try rows.chain(at: end))]]
      let snapshots = try rows.snapshots().filter { $0.label != nil }
      picture["snapshot"] = Self.sorted(snapshots.map(\.row))
      picture["snapshot_part"] = Self.sorted(
        try snapshots.flatMap { snapshot in
          try rows.parts(of: snapshot.id).map { [StoredValue(snapshot.label)] + $0 }
        })
      return picture
    }
    guard let picture else { throw move.interrupted() }
    return picture
  }

  /// In an order that both have.
  private static func sorted(_ rows: [[StoredValue]]) -> [[StoredValue]] {
    rows.sorted { "\($0)" < "\($1)" }
  }
}
#endif
