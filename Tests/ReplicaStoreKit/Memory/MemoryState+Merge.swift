import Tern

extension MemoryState {
  /// Stores an operation, and merges its group when this completes it.
  ///
  /// - Parameter now: the later of this clock and the remote's, in milliseconds.
  mutating func take(
    _ operation: SyncOperation, from remoteID: String, now: Int64, _ summary: inout MergeSummary
  ) throws {
    let envelope = operation.envelope
    let index = author(envelope.replica)
    let known = progress[index]
    if envelope.sequence <= known.stored {
      summary.repeatedOperations += 1
      let isOther = known.log[Int(envelope.sequence) - 1].bytes != operation.bytes
      if isOther {
        summary.conflicts[.sameSequence, default: 0] += 1
        sameSequences += 1
      }
      if index != 0 { noteFork(index, envelope.sequence, at: remoteID, isOther: isOther) }
      return
    }
    guard index != 0 else { throw MergeError(.foreignOwn, envelope.replica, envelope.sequence) }
    if forks[remoteID]?[index] != nil {
      summary.leftOutOperations += 1
      return
    }
    guard envelope.sequence == known.stored + 1 else {
      throw MergeError(.gap, envelope.replica, envelope.sequence)
    }
    let isFragment = known.stored > known.merged
    guard isFragment ? envelope.time == known.time : envelope.time > known.time else {
      throw MergeError(.timeNotIncreasing, envelope.replica, envelope.sequence)
    }
    progress[index].log.append(operation)
    summary.mergedOperations += 1
    if envelope.continues { return }
    progress[index].merged = envelope.sequence
    let sequences = known.merged + 1...envelope.sequence
    let count = putAside.count
    // What follows at once on a state that is ahead already passes.
    let isNext =
      Self.isFuture(lastTime, now: now)
      && envelope.time.milliseconds <= lastTime.milliseconds + 1
    if envelope.time > lastTime, !isNext, Self.isFuture(envelope.time, now: now) {
      putAside.append(
        PutAside(
          author: index, sequences: sequences, reason: "its time is ahead of the clock",
          time: envelope.time))
    } else {
      summary.changedTables.formUnion(try mergeGroup(sequences, author: index, isInTurn: true))
    }
    if putAside.count > count { summary.groupsPutAside += 1 }
  }

  private mutating func noteFork(
    _ author: Int, _ sequence: UInt64, at remoteID: String, isOther: Bool
  ) {
    let known = forks[remoteID]?[author]
    if isOther, sequence < known ?? .max {
      forks[remoteID, default: [:]][author] = sequence
    } else if !isOther, sequence == known {
      forks[remoteID]?[author] = nil
    }
  }

  var replicaForks: [ReplicaFork] {
    forks.sorted { $0.key < $1.key }.flatMap { remote, authors in
      authors.sorted { $0.key < $1.key }.map { author, sequence in
        ReplicaFork(remote: remote, replica: self.authors.ids[author], sequence: sequence)
      }
    }
  }

  /// By others, of ids of this replica.
  var forksTold: [ReplicaFork] {
    toldForks.filter { $0.key != authors.ids[0] }.sorted { $0.key < $1.key }.flatMap {
      witness, sequences in
      sequences.sorted { $0.key < $1.key }
        .map { ReplicaFork(toldBy: witness, replica: $0.key, sequence: $0.value) }
    }
  }

  private mutating func note(_ notice: ForkNotice, by author: Int) {
    let known = toldForks[authors.ids[author]] ?? [:]
    toldForks[authors.ids[author]] = notice.sequences.filter {
      $0.key == authors.ids[0] || known[$0.key] != nil
    }
  }

  private static func isFuture(_ time: HybridTime, now: Int64) -> Bool {
    time.milliseconds - MemoryReplicaStore.toleratedMilliseconds > now
  }

  /// Merges a group, or puts it aside when it cannot be read.
  private mutating func mergeGroup(
    _ sequences: ClosedRange<UInt64>, author: Int, isInTurn: Bool
  ) throws -> Set<String> {
    let group = progress[author].log[Int(sequences.lowerBound) - 1..<Int(sequences.upperBound)]
    if let error = group.lazy.compactMap({ $0.bodyError() }).first {
      putAside.append(PutAside(author: author, sequences: sequences, reason: "\(error)"))
      return []
    }
    var changed: Set<String> = []
    for operation in group {
      changed.formUnion(try mergeRows(of: operation, author: author, isInTurn: isInTurn))
      lastTime = max(lastTime, operation.envelope.time)
    }
    return changed
  }

  private static func isDue(_ group: PutAside, now: Int64) -> Bool {
    group.time.map { !isFuture($0, now: now) } ?? false
  }

  func hasDue(now: Int64) -> Bool {
    putAside.contains { Self.isDue($0, now: now) }
  }

  /// Merges the groups whose time the clock has come near.
  mutating func takeUpDue(now: Int64) throws -> Set<String> {
    let due = putAside.filter { Self.isDue($0, now: now) }
    putAside.removeAll { Self.isDue($0, now: now) }
    return try due.reduce(into: []) {
      $0.formUnion(try mergeGroup($1.sequences, author: $1.author, isInTurn: false))
    }
  }

  /// - Returns: the tables whose rows changed.
  mutating func mergeRows(
    of operation: SyncOperation, author: Int, isInTurn: Bool = true
  ) throws -> Set<String> {
    let sequence = operation.envelope.sequence
    let waiting = putAside.filter { $0.author == author && $0.sequences.lowerBound < sequence }
      .map(\.sequences.lowerBound).min()
    let turn = Turn(
      sequence: sequence, settled: isInTurn ? waiting.map { $0 - 1 } ?? sequence : 0)
    let stamp = Stamp(time: operation.envelope.time, author: UInt32(author))
    var changed: Set<String> = []
    var isWhole = true
    var row = BodyRow()
    try operation.forEachBlock { block, reader in
      let index = tables.firstIndex {
        $0.shape.name.folded == block.table.folded
          && $0.shape.deletes.kind.rawValue == block.deletes
          && $0.shape.keyColumns.map(\.folded) == block.keyColumns.map(\.folded)
      }
      if author != 0, let notice = ForkNotice(block) { note(notice, by: author) }
      let targets = block.columns.map { column in
        index.flatMap { tables[$0].shape.index(of: column) }
      }
      while try reader.nextRow(&row, of: block) {
        if zip(targets, row.isCarried).contains(where: { $0 == nil && $1 }) { isWhole = false }
        guard let index else {
          isWhole = false
          continue
        }
        if try tables[index].merge(
          row, stamp: stamp, turn: turn, targets: targets,
          authors: authors)
        {
          changed.insert(tables[index].shape.name)
        }
      }
    }
    if !isWhole { deferredOperations += 1 }
    return changed
  }
}

extension MemoryRows {
  /// - Returns: whether the state changed.
  fileprivate mutating func merge(
    _ change: BodyRow, stamp: Stamp, turn: Turn, targets: [Int?], authors: Authors
  ) throws -> Bool {
    let key = packed(change.key.map { $0.value ?? .null })
    var row = row(key)
    var state = row.state ?? RowState(life: 0)
    let rowChange = RowChange(
      kind: change.kind, life: change.life, stamp: stamp, sequence: turn.sequence,
      covered: change.covered)
    let effect = state.begin(rowChange, deletes: shape.deletes, authors: authors)
    switch effect {
    case .beaten: return false
    case .begins, .ends: row.content = defaults
    case .stays: break
    }
    for (source, value) in change.values.enumerated() {
      guard let target = targets[source], change.isCarried[source] else { continue }
      let column = UInt32(target)
      let isShown = try state.mergeColumn(
        column, rule: shape.columns[target].rule, value: value, stamp: stamp, turn: turn,
        authors: authors)
      if isShown { row.content[target] = state.computed(column) ?? value.value ?? .null }
    }
    if change.kind == .insert {
      state.finishInsert(stamp, rules: shape.rules, authors: authors)
    }
    state.settle(shape.deletes, after: rowChange, authors: authors)
    guard state != row.state else { return false }
    row.state = state
    row.shown = state.isShown ? row.content : nil
    row.isHeld = state.isPresent && !state.isShown
    if row.shown == nil { large[key] = nil }
    rows[key] = row
    return true
  }
}
