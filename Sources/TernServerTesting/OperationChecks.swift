#if Server
import Dispatch
import Synchronization
import TernCore
import TernServer
import TernTesting

/// Making spaces, appending to them, and finding what was appended.
enum OperationChecks {
  static func checkEmpty(_ space: StoreSpace) throws {
    let (store, name, a) = (space.store, space.name, StoreAuthor(1))
    try requireEqual(.acknowledgedIsStored, try space.summary, space.emptySummary, "its summary")
    try requireEqual(.acknowledgedIsStored, try store.position(of: name), 0, "its position")
    try requireEqual(.acknowledgedIsStored, try space.usage, SpaceUsage(), "its usage")
    try requireEqual(
      .cursorFollowsState, try space.page(),
      StoredPage(standing: SpaceStanding(epoch: store.epoch), head: 0), "the page of nothing")
    try require(
      .acknowledgedIsStored, try store.lease(of: a.id, in: name) == nil, "nothing has a lease")
    try require(
      .authorsAreMembers, try store.authorRecord(of: a.id, in: name) == nil,
      "nothing has an author's record")
    try requireEqual(.authorsAreMembers, try store.authorRecords(of: name), [:], "its records")
    let part = try store.snapshotPart(0, of: "none", in: name, isWhole: true)
    try require(.acknowledgedIsStored, part == nil, "nothing has a part of a snapshot")
    try require(
      .acknowledgedIsStored, try !store.removeSpace(name), "a space that doesn't exist was removed")
    try requireEqual(.spacesAreApart, try store.spaces(), [], "the spaces after reading")
    try requireEqual(.authorsAreMembers, try store.tokens(), [], "the tokens of an empty store")
  }

  static func checkMade(_ space: StoreSpace) throws {
    let beside = try space.beside()
    for (one, before) in [(space, 0), (beside, 1)] {
      let counted = try one.update { try $0.spacesBefore }
      try requireEqual(.limitsHold, counted, before, "the spaces before \(one.name) was made")
      let again = try one.update { try $0.spacesBefore }
      try requireEqual(.limitsHold, again, nil, "the spaces before one that is there")
    }
    try requireEqual(
      .acknowledgedIsStored, try space.store.spaces(), [beside.name, space.name],
      "the spaces, by name")
    try requireEqual(.acknowledgedIsStored, try space.summary, space.emptySummary, "a new space")
  }

  static func checkPositions(_ space: StoreSpace) throws {
    var (a, b) = (StoreAuthor(1), StoreAuthor(2))
    let batches = [a.next(2), b.next(1) + a.next(2), b.next(3)]
    var all: [NewOperation] = []
    for batch in batches {
      let before = try space.update { transaction in
        try transaction.append(batch, heads: batch.heads)
        return transaction.position
      }
      try requireEqual(
        .acknowledgedIsStored, before, UInt64(all.count), "the position as a transaction began")
      all += batch
      let summary = try space.summary
      try requireEqual(
        .acknowledgedIsStored, summary.position, UInt64(all.count), "the position after \(batch)")
      try requireEqual(
        .acknowledgedIsStored, summary.heads, VersionVector(all.heads.mapValues(\.sequence)),
        "the heads after an append")
    }
    try requireEqual(
      .acknowledgedIsStored, try space.store.position(of: space.name), 8, "the position alone")
    try requireEqual(
      .timesIncrease, try space.summary.newestTime,
      a.head.time > b.head.time ? a.head.time : b.head.time,
      "the greatest time")
    for index in all.indices {
      let one = try space.page(after: UInt64(index), operations: 1)
      try requireEqual(
        .acknowledgedIsStored, one.operations, [all[index]].encoded, "what is behind \(index)")
    }
    try requireEqual(.limitsHold, try space.usage.counted, all.counted, "what is counted of all")
  }

  static func checkKeys(_ space: StoreSpace) throws {
    var (a, b) = (StoreAuthor(1), StoreAuthor(2))
    let stranger = StoreAuthor(3).id
    let all = a.next(2) + b.next(1)
    try space.append(all)
    let unknown = [
      OperationKey(author: a.id, sequence: 3), OperationKey(author: stranger, sequence: 1),
      OperationKey(author: b.id, sequence: .max),
    ]
    try space.update { transaction in
      let heads = try transaction.heads(of: [a.id, stranger])
      try requireEqual(.acknowledgedIsStored, heads, [a.id: a.head], "the heads of some authors")
      try requireEqual(
        .acknowledgedIsStored, try transaction.heads(), all.heads, "the heads of all authors")
      try requireEqual(
        .acknowledgedIsStored, try transaction.digests(of: [all[0].key, all[2].key] + unknown),
        [all[0].key: all[0].digest, all[2].key: all[2].digest], "the digests of some operations")
      for (index, new) in all.enumerated() {
        try requireEqual(
          .acknowledgedIsStored, try transaction.position(of: new.key), UInt64(index) + 1,
          "where \(new.key) is")
      }
      for key in unknown {
        let position = try transaction.position(of: key)
        try requireEqual(.acknowledgedIsStored, position, nil, "where \(key) is")
      }
    }
  }

  static func checkChain(_ space: StoreSpace) throws {
    var (a, b) = (StoreAuthor(1), StoreAuthor(2))
    let all = a.next(2) + b.next(2)
    try space.append(Array(all.prefix(3)))
    try space.append([all[3]])
    let chains = all.chains
    try space.update { transaction in
      for position in 0...6 as ClosedRange<UInt64> {
        let expected = (1...4).contains(position) ? chains[Int(position) - 1] : nil
        try requireEqual(
          .cursorFollowsState, try transaction.chain(at: position), expected,
          "the chain at \(position)")
      }
    }
    for position in 0...4 as ClosedRange<UInt64> {
      let page = try space.page(after: position)
      try requireEqual(
        .cursorFollowsState, page.chainBefore, position == 0 ? nil : chains[Int(position) - 1],
        "the chain before a page after \(position)")
      try requireEqual(
        .cursorFollowsState, page.lastChain, position == 4 ? nil : chains[3],
        "the chain at the end of a page after \(position)")
    }
    let beyond = try space.page(after: 9)
    try require(
      .cursorFollowsState, beyond.chainBefore == nil && beyond.operations.isEmpty,
      "a page beyond the head has \(beyond)")
    try requireEqual(.cursorFollowsState, beyond.head, 4, "the head that a page beyond it says")
  }

  static func checkApart(_ space: StoreSpace) throws {
    let beside = try space.beside()
    var (a, copy) = (StoreAuthor(1), StoreAuthor(1))
    // The same keys, and other content.
    let (here, there) = (a.next(3), copy.next(2, bytes: 30))
    try space.append(here)
    try beside.append(there)
    try space.update { transaction in
      try transaction.set(Lease(position: 3, renewed: .at(1)), of: a.id)
      try transaction.set(AuthorRecord(admitted: 1), of: a.id)
      try transaction.trim(through: 2)
      try transaction.set(SpaceQuota(bytes: 9))
    }
    try space.upload("same", at: 3, [[1]])
    let summary = try beside.summary
    try requireEqual(.spacesAreApart, summary.position, 2, "the position of a space beside")
    try requireEqual(.spacesAreApart, summary.trimmed, 0, "what is trimmed of a space beside")
    try requireEqual(.spacesAreApart, summary.snapshot, nil, "the snapshot of a space beside")
    try requireEqual(
      .spacesAreApart, try beside.page().operations, there.encoded, "a page of a space beside")
    try requireEqual(.spacesAreApart, try beside.usage.counted, there.counted, "its usage")
    try requireEqual(.spacesAreApart, try beside.usage.quota, SpaceQuota(), "its quota")
    try requireEqual(
      .spacesAreApart, try space.store.lease(of: a.id, in: beside.name), nil, "its leases")
    try requireEqual(
      .spacesAreApart, try space.store.authorRecords(of: beside.name), [:], "its records")
    let digests = try beside.update { try $0.digests(of: here.map(\.key)) }
    try requireEqual(
      .spacesAreApart, digests, [there[0].key: there[0].digest, there[1].key: there[1].digest],
      "the digests of a space beside")
  }

  /// From two threads, each of which reads what the other one wrote.
  static func checkTogether(_ space: StoreSpace) throws {
    let rounds = 20
    let shared = StoreAuthor(9).id
    let failures = Mutex<[String]>([])
    let positions = Mutex<[UInt64]>([])
    DispatchQueue.concurrentPerform(iterations: 2) { thread in
      do {
        var author = StoreAuthor(UInt64(thread) + 1)
        for operation in author.next(rounds) {
          let position = try space.update { transaction in
            var record = try transaction.authorRecords(of: [shared])[shared] ?? AuthorRecord()
            record.admitted = (record.admitted ?? 0) + 1
            try transaction.set(record, of: shared)
            try transaction.append([operation], heads: [operation].heads)
            return transaction.position
          }
          positions.withLock { $0.append(position) }
        }
      } catch {
        failures.withLock { $0.append("\(error)") }
      }
    }
    try requireEqual(.operationsAreAtomic, failures.withLock { $0 }, [], "what updates threw")
    try requireEqual(
      .acknowledgedIsStored, positions.withLock { $0.sorted() }, Array(0..<UInt64(2 * rounds)),
      "the positions as updates began")
    let record = try space.store.authorRecord(of: shared, in: space.name)
    try requireEqual(
      .operationsAreAtomic, record?.admitted, UInt64(2 * rounds), "what both added one to")
    let page = try space.page()
    try requireEqual(.acknowledgedIsStored, page.head, UInt64(2 * rounds), "the head")
    let given = try page.operations.map { NewOperation(try SyncOperation(bytes: $0)) }
    for number in 1...2 as ClosedRange<UInt64> {
      var author = StoreAuthor(number)
      try requireEqual(
        .acknowledgedIsStored, given.filter { $0.key.author == author.id }, author.next(rounds),
        "what one of two threads appended")
    }
    try requireEqual(.cursorFollowsState, page.lastChain, given.chains.last, "the chain")
  }
}
#endif
