#if Server
import TernCore
import TernServer
import TernTesting

/// What is served no more, and how its bytes go.
enum TrimChecks {
  static func checkTrim(_ space: StoreSpace) throws {
    var (a, b) = (StoreAuthor(1), StoreAuthor(2))
    let all = a.next(3) + b.next(3)
    try space.append(all)
    try requireEqual(.compactionIsUnseen, try space.summary.trimmed, 0, "before any trimming")
    for (position, trimmed) in [(4, 4), (2, 4), (5, 5), (5, 5)] as [(UInt64, UInt64)] {
      try space.update { try $0.trim(through: position) }
      try requireEqual(
        .compactionIsUnseen, try space.summary.trimmed, trimmed, "trimming through \(position)")
    }
    try space.update { try emptied($0, through: 5) }
    let page = try space.page(after: 5)
    try requireEqual(.compactionIsUnseen, page.trimmed, 5, "what a page says is trimmed")
    try requireEqual(
      .compactionIsUnseen, page.operations, all.suffix(1).encoded, "what was not trimmed")
    try requireEqual(.compactionIsUnseen, page.chainBefore, all.chains[4], "the chain there")
    try space.update { transaction in
      try requireEqual(.compactionIsUnseen, try transaction.trimmed, 5, "trimmed in a transaction")
      try requireEqual(
        .compactionIsUnseen, try transaction.digests(of: all.map(\.key)),
        Dictionary(uniqueKeysWithValues: all.map { ($0.key, $0.digest) }), "digests after trimming")
      for (index, new) in all.enumerated() {
        let position = UInt64(index) + 1
        try requireEqual(
          .compactionIsUnseen, try transaction.position(of: new.key), position, "a place")
        try requireEqual(
          .compactionIsUnseen, try transaction.chain(at: position), all.chains[index], "a chain")
      }
      try requireEqual(.compactionIsUnseen, try transaction.heads(), all.heads, "the heads")
    }
  }

  /// Takes the bytes from all that was trimmed.
  private static func emptied(_ transaction: any SpaceTransaction, through position: UInt64) throws
  {
    while try transaction.releaseTrimmed(operations: 100) {}
    while try transaction.removeTrimmed(
      through: position, operations: 100, contentBytes: 1 << 30)
    {}
  }

  static func checkRelease(_ space: StoreSpace) throws {
    var (a, b) = (StoreAuthor(1), StoreAuthor(2))
    let all = a.next(2) + b.next(4, bytes: 50)
    try space.append(all)
    let idle = try space.update { try $0.releaseTrimmed(operations: 3) }
    try require(.limitsHold, !idle, "there is more to release of nothing")
    try space.update { try $0.trim(through: 5) }
    for (released, isMore) in [(3, true), (5, false), (5, false)] {
      let answer = try space.update { try $0.releaseTrimmed(operations: 3) }
      try requireEqual(.limitsHold, answer, isMore, "whether there is more than \(released)")
      let usage = try space.usage
      try requireEqual(
        .limitsHold, usage.keptBytes, all.prefix(released).byteCount, "kept of \(released)")
      try requireEqual(
        .limitsHold, usage.counted, all.dropFirst(released).counted, "usage after \(released)")
      let counted = try space.update { try $0.counted }
      try requireEqual(
        .limitsHold, counted, all.dropFirst(released).counted, "counted after \(released)")
    }
  }

  static func checkEmptied(_ space: StoreSpace) throws {
    var a = StoreAuthor(1)
    let all = a.next(8, bytes: 100)
    try space.append(all)
    try space.update { transaction in
      try transaction.trim(through: 6)
      while try transaction.releaseTrimmed(operations: 100) {}
    }
    // Through, operations and bytes; then how many are without bytes, and whether there are more.
    let size = all[0].operation.bytes.count
    let steps: [(UInt64, Int, Int, Int, Bool)] = [
      (4, 2, 1 << 30, 2, true), (4, 9, 1, 3, true), (4, 9, 1 << 30, 4, false),
      (4, 9, 1 << 30, 4, false), (5, 9, size, 5, false), (8, 9, 1 << 30, 6, false),
    ]
    for (position, operations, bytes, count, isMore) in steps {
      let answer = try space.update {
        try $0.removeTrimmed(through: position, operations: operations, contentBytes: bytes)
      }
      let step = "\(operations) operations of \(bytes) bytes through \(position)"
      try requireEqual(.limitsHold, answer, isMore, "whether there are more after \(step)")
      try requireEqual(
        .limitsHold, try space.usage.keptBytes, (6 - count) * size, "kept after \(step)")
    }
    try requireEqual(
      .limitsHold, try space.usage.counted, all.suffix(2).counted, "usage of what was not trimmed")
    let digests = try space.update { try $0.digests(of: all.map(\.key)) }
    try requireEqual(.compactionIsUnseen, digests.count, 8, "the digests that stay")
    try requireEqual(
      .compactionIsUnseen, try space.page(after: 6).operations, all.suffix(2).encoded,
      "what was not trimmed")
  }

  static func checkUntrim(_ space: StoreSpace) throws {
    var (a, b) = (StoreAuthor(1), StoreAuthor(2))
    let all = a.next(3) + b.next(1) + a.next(2)
    try space.append(all)
    try space.update { transaction in
      try transaction.set(AuthorRecord(bannedAfter: 1), of: b.id)
      try transaction.trim(through: 5)
      while try transaction.releaseTrimmed(operations: 100) {}
      _ = try transaction.removeTrimmed(through: 2, operations: 100, contentBytes: 1 << 30)
    }
    let back = try space.update { try $0.untrim() }
    try requireEqual(.compactionIsUnseen, back.trimmed, 2, "up to where bytes are gone")
    // The third and the fifth; the fourth is of a banned author.
    try requireEqual(
      .limitsHold, back.counted, [all[2], all[4]].counted, "what is counted of it again")
    let usage = try space.usage
    try requireEqual(.limitsHold, usage.keptBytes, 0, "kept after untrimming")
    try requireEqual(.limitsHold, usage.banned, [all[3]].counted, "of banned authors")
    try requireEqual(
      .limitsHold, usage.counted, [all[2], all[4], all[5]].counted, "usage after untrimming")
    let page = try space.page(after: 2)
    try requireEqual(.compactionIsUnseen, page.trimmed, 2, "what a page says is trimmed")
    try requireEqual(
      .compactionIsUnseen, page.operations, all.dropFirst(2).encoded, "what is served again")
    let again = try space.update { try $0.untrim() }
    try requireEqual(.compactionIsUnseen, again.trimmed, 2, "untrimming once more")
    try requireEqual(.limitsHold, again.counted, CountedOperations(), "what that counts again")
  }
}
#endif
