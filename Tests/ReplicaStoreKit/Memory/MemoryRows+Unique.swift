import Tern

extension MemoryState {
  /// Decides which rows are shown, when everything is sealed.
  mutating func walk() {
    for index in tables.indices { tables[index].walk(authors) }
  }
}

/// UNIQUE beside the key, as the SQLite store has it, without references.
extension MemoryRows {
  /// Shows of rows that collide the one that was created first, for all rows at once: a function
  /// of the state alone.
  fileprivate mutating func walk(_ authors: Authors) {
    if shape.uniques.isEmpty { return }
    func creation(_ row: Row) -> (HybridTime, ReplicaID) {
      let stamp = row.state?.stamp ?? .zero
      return (stamp.time, authors.ids[Int(stamp.author)])
    }
    // Without a state it is too large to travel, and yields.
    let known = rows.filter { $0.value.state?.isShown ?? false }.sorted { left, right in
      let (first, second) = (creation(left.value), creation(right.value))
      return first == second ? left.key.lexicographicallyPrecedes(right.key) : first < second
    }
    let unknown = rows.filter { $0.value.state == nil && $0.value.shown != nil }
      .sorted { $0.key.lexicographicallyPrecedes($1.key) }
    var taken: Set<[UInt8]> = []
    for (key, row) in known + unknown {
      let values = large[key] == nil ? row.content : row.shown ?? row.content
      let places = places(values)
      let isShown = taken.isDisjoint(with: places)
      if isShown { taken.formUnion(places) }
      rows[key]!.shown = isShown ? values : nil
      rows[key]!.isHeld = !isShown
      if row.state == nil { rows[key]!.content = values }
    }
  }

  /// The keys of the rows in the table that hold the same as one with these values would.
  func rivals(of key: [UInt8], _ values: [SQLiteValue]) -> [[UInt8]] {
    if shape.uniques.isEmpty { return [] }
    let places = places(values)
    return rows.filter { other, row in
      other != key && row.shown.map { !places.isDisjoint(with: self.places($0)) } ?? false
    }.keys.sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// What a row takes in each of the indexes, as bytes.
  private func places(_ values: [SQLiteValue]) -> Set<[UInt8]> {
    Set(
      shape.uniques.enumerated().compactMap { number, columns in
        let indexed = columns.map { values[$0] }
        if indexed.contains(.null) { return nil }
        return packed([.integer(Int64(number))] + indexed)
      })
  }
}
