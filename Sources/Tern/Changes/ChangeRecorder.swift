import TernCore

/// Takes down which rows one transaction changes. Used by that transaction's thread alone.
final class ChangeRecorder {
  private struct Place: Hashable {
    let table: Int64
    let isLocal: Bool
  }

  /// By packed key; `nil` once there are too many.
  private var keys: [Place: Set<[UInt8]>?] = [:]

  func note(_ table: Int64, _ key: some ContiguousBytesLike, isLocal: Bool) {
    let place = Place(table: table, isLocal: isLocal)
    guard var known = keys[place, default: []] else { return }
    keys[place] = .some(nil)
    if known.count == ReplicaChanges.Limit.keys { return }
    known.insert(key.withBytes { Array($0) })
    keys[place] = .some(known)
  }

  /// - Throws: ``WireError`` for a key that was never packed.
  func changes(in sql: [TableSQL]) throws -> ReplicaChanges {
    var changes = ReplicaChanges()
    for (place, keys) in keys {
      guard let shape = sql.first(where: { $0.shape.id == place.table })?.shape else { continue }
      let rows: ReplicaChanges.Rows =
        if let keys {
          .keys(Set(try keys.map { try $0.withUnsafeBytes { try PackedKey.values($0) } }))
        } else {
          .all
        }
      if place.isLocal {
        changes.local[shape.name] = rows
      } else {
        changes.merged[shape.name] = rows
      }
    }
    return changes
  }
}
