/// Whether a row of this life is deleted, where a change may bring it back: ``DeleteRule``.
///
/// Under `.updateWins` the row is an element of an observed-remove set: a write is an addition, and
/// a delete covers the writes that its author had seen. Under `.lastWriter` times decide.
package struct Presence: Hashable, Sendable {
  /// Of each author the sequence of its last write to the row, by author's index, in this life;
  /// empty under `.lastWriter`.
  package internal(set) var writes: [UInt32: UInt64] = [:]
  /// The writes that deletes had seen.
  package internal(set) var covered = VersionVector()
  /// Of the last write, under `.lastWriter`, where no column has it.
  package internal(set) var lastWrite: Stamp?
  /// Of the latest delete; `nil` where there was none.
  package internal(set) var deletion: Stamp?
  /// What follows from all that: the row is not shown.
  package internal(set) var isDeleted = false
}

extension RowState {
  /// Behind every column.
  private static let presenceColumn = UInt32.max >> 3

  /// Of a row whose table keeps what is deleted.
  package var presence: Presence? {
    if case .presence(let presence) = cells.last?.content { presence } else { nil }
  }

  package var isDeleted: Bool { presence?.isDeleted ?? false }
  /// Whether the row is there for the app: created, in this life, and not deleted.
  package var isPresent: Bool { isAlive && !isDeleted }
  /// Whether the row can stand in its table.
  package var isShown: Bool { isComplete && !isDeleted }
  /// The greatest life that the row's changes have named.
  package var lastLife: UInt32 { isDeleted ? life + 1 : life }
  /// The life of the same key's next row.
  package var nextLife: UInt32 { isAlive ? life + 2 : life + 1 }

  mutating func setPresence(_ presence: Presence?) {
    set(presence.map { .presence($0) }, of: Self.presenceColumn)
  }

  /// Begins to merge a change where deletes keep the row: its life stays odd.
  mutating func beginKeeping(_ change: RowChange, _ rule: DeleteRule, authors: Authors) -> RowEffect
  {
    let target = change.kind == .delete ? change.life - 1 : change.life
    if target < life { return .beaten }
    let isNewLife = target > life
    if isNewLife { self = RowState(life: target) }
    if change.kind == .delete {
      var presence = presence ?? Presence()
      presence.deletion =
        presence.deletion.map { authors.isLess($0, change.stamp) ? change.stamp : $0 }
        ?? change.stamp
      for (replica, sequence) in change.covered.sequences
      where !Planted.isActive(.deleteForgotten) || presence.writes.count < 2 {
        presence.covered[replica] = max(presence.covered[replica], sequence)
      }
      setPresence(presence)
    } else if rule == .updateWins {
      var presence = presence ?? Presence()
      let author = change.stamp.author
      presence.writes[author] = max(presence.writes[author] ?? 0, change.sequence)
      setPresence(presence)
    }
    if rule == .lastWriter { noteExtremes(authors: authors) }
    return isNewLife ? .begins : .stays
  }

  /// The stamp of an extreme can go down, when an earlier write had the greater value: what it was
  /// must not be forgotten.
  private mutating func noteExtremes(authors: Authors) {
    let hasExtremes = cells.contains { if case .extreme = $0.content { true } else { false } }
    guard hasExtremes, let latest = latestStamp(authors: authors) else { return }
    var presence = presence ?? Presence()
    let known = [presence.lastWrite, latest].compactMap { $0 }
    presence.lastWrite = known.max { authors.isLess($0, $1) }
    setPresence(presence)
  }

  /// Decides whether the row is deleted, after the columns of a change were merged.
  package mutating func settle(_ rule: DeleteRule, after change: RowChange, authors: Authors) {
    guard rule.keepsContent else { return }
    if rule == .lastWriter {
      noteLastWrite(change.kind == .delete ? nil : change.stamp, authors: authors)
    }
    settle(rule, authors: authors)
  }

  private mutating func settle(_ rule: DeleteRule, authors: Authors) {
    guard var presence, let deletion = presence.deletion else { return }
    if rule == .updateWins {
      presence.isDeleted = presence.writes.allSatisfy { author, sequence in
        presence.covered[authors.ids[Int(author)]] >= sequence
      }
    } else {
      let last = presence.lastWrite ?? latestStamp(authors: authors)
      presence.isDeleted = last.map { authors.isLess($0, deletion) || $0 == deletion } ?? true
    }
    setPresence(presence)
  }

  /// A write that no column shows, because an extreme beat it, is known here alone.
  private mutating func noteLastWrite(_ written: Stamp?, authors: Authors) {
    var presence = presence ?? Presence()
    let known = authors.later(presence.lastWrite, written)
    let shown = latestStamp(authors: authors)
    presence.lastWrite = known.flatMap { known in
      shown.map { authors.isLess($0, known) } ?? true ? known : nil
    }
    setPresence(presence == Presence() ? nil : presence)
  }

  /// The presence of a row whose columns were joined.
  mutating func joinPresence(
    _ left: RowState, _ right: RowState, _ rule: DeleteRule, _ authors: Authors
  ) {
    guard rule.keepsContent else { return }
    var presence = left.presence ?? Presence()
    let other = right.presence ?? Presence()
    presence.writes.merge(other.writes) { max($0, $1) }
    for (replica, sequence) in other.covered.sequences {
      presence.covered[replica] = max(presence.covered[replica], sequence)
    }
    presence.deletion = authors.later(presence.deletion, other.deletion)
    presence.lastWrite = authors.later(presence.lastWrite, other.lastWrite)
    presence.isDeleted = false
    setPresence(presence == Presence() ? nil : presence)
    if rule == .lastWriter {
      let latest = authors.later(
        left.latestStamp(authors: authors), right.latestStamp(authors: authors))
      noteLastWrite(latest, authors: authors)
    }
    settle(rule, authors: authors)
  }

  /// Of the latest write that a column or the row shows.
  package func latestStamp(authors: Authors) -> Stamp? { stamps.max { authors.isLess($0, $1) } }

  /// Of every write that stands.
  private var stamps: [Stamp] {
    cells.compactMap { cell in
      switch cell.content {
      case .stamped(let stamp), .counter(_, let stamp), .extreme(_, let stamp), .set(_, let stamp),
        .text(_, let stamp):
        stamp
      case .unset, .presence: nil
      }
    } + (stamp == .zero ? [] : [stamp])
  }

  /// The writes that a delete of this row covers: all that are known here.
  package func seenWrites(authors: Authors) -> VersionVector {
    VersionVector(
      Dictionary(
        uniqueKeysWithValues: (presence?.writes ?? [:]).map { (authors.ids[Int($0)], $1) }))
  }
}

extension Presence {
  /// The same with one stamp replaced, where it carries that.
  package func restamped(from old: Stamp, to new: Stamp) -> Presence {
    var presence = self
    if deletion == old { presence.deletion = new }
    if lastWrite == old { presence.lastWrite = new }
    return presence
  }

  func append(to writer: inout ByteWriter) {
    writer.append(
      byte: (isDeleted ? 1 : 0) | (deletion == nil ? 0 : 2) | (lastWrite == nil ? 0 : 4))
    if let deletion { writer.append(stamp: deletion) }
    if let lastWrite { writer.append(stamp: lastWrite) }
    writer.append(varint: UInt64(writes.count))
    for (author, sequence) in writes.sorted(by: { $0.key < $1.key }) {
      writer.append(varint: UInt64(author))
      writer.append(varint: sequence)
    }
    writer.append(covered)
  }

  init(_ reader: inout ByteReader) throws(WireError) {
    let flags = try reader.byte("presence")
    isDeleted = flags & 1 != 0
    if flags & 2 != 0 { deletion = try reader.stamp() }
    if flags & 4 != 0 { lastWrite = try reader.stamp() }
    for _ in 0..<(try reader.count("writes")) {
      guard let author = UInt32(exactly: try reader.varint("writes")) else {
        throw WireError(.malformed, "writes")
      }
      writes[author] = try reader.varint("writes")
    }
    covered = try reader.vector("covered writes", limit: .max)
  }
}
