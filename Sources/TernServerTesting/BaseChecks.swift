#if Server
import TernCore
import TernServer
import TernTesting

/// Bases, and what stands on them.
enum BaseChecks {
  static func checkBase(_ space: StoreSpace) throws {
    var (a, b) = (StoreAuthor(1), StoreAuthor(2))
    let own = a.next(2)
    try space.append(own)
    a.skip(3)
    b.skip(4)
    let heads = [a.id: a.head, b.id: b.head]
    let digest = OperationDigest(base: "base")
    let expected = ChainDigest(after: own.chains[1], digest)
    let chain = try space.update { transaction in
      try requireEqual(.cursorFollowsState, try transaction.basePosition, 0, "no base's position")
      return try transaction.appendBase(digest, heads: heads)
    }
    try requireEqual(.cursorFollowsState, chain, expected, "the chain that a base returns")
    try space.update { transaction in
      try requireEqual(.cursorFollowsState, transaction.position, 3, "the position after a base")
      try requireEqual(.cursorFollowsState, try transaction.basePosition, 3, "a base's position")
      try requireEqual(.cursorFollowsState, try transaction.chain(at: 3), chain, "a base's chain")
      try requireEqual(.acknowledgedIsStored, try transaction.heads(), heads, "a base's heads")
      try requireEqual(
        .acknowledgedIsStored,
        try transaction.digests(of: [OperationKey(author: b.id, sequence: 4)]), [:],
        "the digest of what a base stands for")
    }
    try requireEqual(.limitsHold, try space.usage.counted, own.counted, "usage with a base")
    let second = try space.update {
      try $0.appendBase(OperationDigest(base: "second"), heads: [:])
    }
    try space.update { transaction in
      try requireEqual(.cursorFollowsState, try transaction.basePosition, 4, "the newest base")
      try requireEqual(.cursorFollowsState, try transaction.chain(at: 4), second, "its chain")
      try requireEqual(.acknowledgedIsStored, try transaction.heads(), heads, "heads it left alone")
    }
  }

  static func checkPassed(_ space: StoreSpace) throws {
    var (a, b, c) = (StoreAuthor(1), StoreAuthor(2), StoreAuthor(3))
    let before = a.next(2)
    try space.append(before)
    let (head, held) = (a.head, a.snapshotHead)
    a.skip(3)
    b.skip(4)
    let heads = [a.id: a.head, b.id: b.head]
    try space.update { _ = try $0.appendBase(OperationDigest(base: "base"), heads: heads) }
    let (onBase, alone) = (a.next(1) + b.next(1), c.next(2))
    try space.append(onBase + alone)
    let state = StoredState.reported(by: a.id, at: 7)
    try space.update { try $0.set(state) }
    let chains = try space.update { transaction in
      try (1...7).map { try transaction.chain(at: $0) }
    }
    let changed = try space.update { try $0.passBases(after: 2, held: [a.id: held]) }
    try requireEqual(
      .acknowledgedIsStored, changed, [a.id: head, b.id: nil], "the heads that went back")
    try space.update { transaction in
      try requireEqual(.cursorFollowsState, try transaction.basePosition, 0, "a passed base")
      try requireEqual(
        .acknowledgedIsStored, try transaction.heads(), [a.id: head, c.id: c.head], "the heads")
      let digests = try transaction.digests(of: (onBase + alone).map(\.key))
      try requireEqual(
        .acknowledgedIsStored, digests,
        [alone[0].key: alone[0].digest, alone[1].key: alone[1].digest],
        "the digests behind a passed base")
      let place = try transaction.position(of: onBase[0].key)
      try requireEqual(.acknowledgedIsStored, place, nil, "where a passed operation is")
      try requireEqual(.acknowledgedIsStored, try transaction.state, nil, "the report of the state")
      try requireEqual(
        .cursorFollowsState, try (1...7).map { try transaction.chain(at: $0) }, chains,
        "the chains after passing a base")
    }
    let page = try space.page(after: 2)
    try requireEqual(
      .cursorFollowsState, page.operations, alone.encoded, "what a page over a passed base has")
    try require(
      .cursorFollowsState, page.end == 7 && !page.endsBeforeBase, "a page ends at what was passed")
    try requireEqual(
      .limitsHold, try space.usage.counted, (before + alone).counted, "usage after passing a base")
    // The numbers are free again.
    let again = b.id
    var fresh = StoreAuthor(2)
    let first = fresh.next(1)
    try space.append(first)
    try requireEqual(
      .acknowledgedIsStored, try space.summary.heads[again], 1, "a head that begins again")
    try requireEqual(
      .acknowledgedIsStored, try space.page(after: 7).operations, first.encoded, "what follows")
  }

  static func checkHeld(_ space: StoreSpace) throws {
    var (a, b) = (StoreAuthor(1), StoreAuthor(2))
    a.skip(3)
    b.skip(2)
    let held = [a.id: a.snapshotHead, b.id: b.snapshotHead]
    let (first, old) = ([a.id: a.head, b.id: b.head], b.head)
    try space.update { _ = try $0.appendBase(OperationDigest(base: "first"), heads: first) }
    let following = a.next(1)
    let head = a.head
    try space.append(following)
    a.skip(2)
    b.skip(3)
    let second = [a.id: a.head, b.id: b.head]
    try space.update { _ = try $0.appendBase(OperationDigest(base: "second"), heads: second) }
    let lost = a.next(1)
    try space.append(lost)
    let changed = try space.update { try $0.passBases(after: 1, held: held) }
    try requireEqual(
      .acknowledgedIsStored, changed, [a.id: head, b.id: old], "the heads that went back")
    try space.update { transaction in
      try requireEqual(
        .acknowledgedIsStored, try transaction.heads(), [a.id: head, b.id: old], "the heads")
      try requireEqual(.cursorFollowsState, try transaction.basePosition, 1, "the base that stays")
    }
    let page = try space.page(after: 1)
    try requireEqual(
      .acknowledgedIsStored, page.operations, following.encoded, "what follows the snapshot")
    try requireEqual(.cursorFollowsState, page.end, 4, "where a page over what was passed ends")
    try requireEqual(
      .limitsHold, try space.usage.counted, following.counted, "usage after passing a base")
  }
}
#endif
