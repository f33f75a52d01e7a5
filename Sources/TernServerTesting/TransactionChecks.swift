#if Server
import TernCore
import TernServer
import TernTesting

/// What a scenario throws in an update.
private struct Abandoned: Error {}

/// What a transaction stores and reads, and what is left of one that threw.
enum TransactionChecks {
  private typealias Write = (what: String, body: (any SpaceTransaction) throws -> Void)

  static func checkRollback(_ space: StoreSpace) throws {
    var a = StoreAuthor(1)
    try fill(space, &a)
    let before = try space.picture()
    let writes = try writes(space, a)
    for write in writes { try abandon(space, write, before) }
    // What an append or a base is beside is no matter: of all others one after the other.
    let others = writes.dropFirst(4)
    try abandon(
      space, ("everything", { transaction in for write in others { try write.body(transaction) } }),
      before)
    let next = a.next(1)
    try space.append(next)
    let page = try space.page(after: before.summary.position)
    try requireEqual(
      .acknowledgedIsStored, page.operations, next.encoded, "what follows transactions that threw")
  }

  private static func abandon(_ space: StoreSpace, _ write: Write, _ before: StorePicture) throws {
    do {
      try space.update { transaction in
        try write.body(transaction)
        throw Abandoned()
      }
      throw ConformanceFailure(.operationsAreAtomic, "an update that threw returned: \(write.what)")
    } catch is Abandoned {
      let after = try space.picture()
      try require(
        .operationsAreAtomic, after == before,
        "an update threw, and something is stored of \(write.what): \(before), then \(after)")
    }
  }

  /// Some of everything.
  static func fill(_ space: StoreSpace, _ a: inout StoreAuthor) throws {
    let (id, head) = (a.id, a.snapshotHead)
    try space.append(a.next(4))
    try space.upload("kept", at: 2, [[1, 2], [3]], heads: [id: head])
    try space.upload("gone", at: 1, [[4]])
    let token = space.token("known")
    let state = StoredState.reported(by: id, at: 4)
    try space.update { transaction in
      try transaction.set(state)
      try transaction.drop("gone", keptFrom: .at(5))
      try transaction.trim(through: 3)
      _ = try transaction.releaseTrimmed(operations: 2)
      try transaction.set(Lease(position: 2, renewed: .at(1)), of: id)
      try transaction.add(PositionMark(position: 2, time: .at(1)), .stored)
      try transaction.add(PositionMark(position: 1, time: .at(1)), .trimmed)
      try transaction.add(token)
    }
  }

  /// Every kind of write. The first four can't be beside each other.
  private static func writes(_ space: StoreSpace, _ author: StoreAuthor) throws -> [Write] {
    var next = author
    let operations = next.next(2)
    let (id, head) = (author.id, author.head)
    let member = try MemberName("Ada")
    let new = StoredSnapshot(
      id: "new", cursor: RemoteCursor(rawValue: "cursor"), position: 4, isBase: true, parts: 1,
      touched: .at(2))
    let entry = AuditEntry(
      actor: AuditActor(stored: "operator:ada"), action: .setQuota, space: space.name, time: .at(2))
    return [
      ("operations", { try $0.append(operations, heads: operations.heads) }),
      ("heads", { try $0.append([], heads: operations.heads) }),
      ("a base", { _ = try $0.appendBase(OperationDigest(base: "base"), heads: [id: head]) }),
      ("passed bases", { _ = try $0.passBases(after: 3, held: [:]) }),
      ("a token", { try $0.add(space.token("new", of: member, created: 2)) }),
      ("a snapshot", { try $0.add(new, heads: [:]) }),
      ("a part", { try $0.addPart([5], digest: PartDigest(part: [5]), index: 2, of: "kept") }),
      ("a dropped snapshot", { try $0.drop("kept", keptFrom: .at(3)) }),
      (
        "a snapshot that came back",
        { for dropped in try $0.droppedSnapshots() { _ = try $0.bringBack(dropped) } }
      ),
      ("a quota", { try $0.set(SpaceQuota(bytes: 1, operations: 2)) }),
      (
        "deadlines",
        { try $0.set(SpaceDeadlines(refill: .at(1), trimming: .at(2), suspended: .at(3))) }
      ),
      ("a lease", { try $0.set(Lease(position: 4, renewed: .at(2)), of: StoreAuthor(2).id) }),
      ("a lease that goes", { try $0.set(nil, of: id) }),
      ("a mark", { try $0.add(PositionMark(position: 3, time: .at(2)), .stored) }),
      ("a mark of trimming", { try $0.add(PositionMark(position: 3, time: .at(2)), .trimmed) }),
      ("marks that go", { try $0.removeMarks(before: 9, .stored) }),
      ("an author's record", { try $0.set(AuthorRecord(member: member), of: id) }),
      ("a report", { try $0.set(StoredState.reported(by: StoreAuthor(2).id, at: 4)) }),
      ("a trim", { try $0.trim(through: 4) }),
      ("a release", { _ = try $0.releaseTrimmed(operations: 1) }),
      (
        "removed bytes",
        { _ = try $0.removeTrimmed(through: 1, operations: 1, contentBytes: 1 << 20) }
      ),
      ("an untrim", { _ = try $0.untrim() }),
      ("an audit record", { try $0.audit.add(entry, keeping: 1) }),
    ]
  }

  static func checkUnmade(_ space: StoreSpace) throws {
    var a = StoreAuthor(1)
    let operations = a.next(1)
    let token = space.token("new")
    do {
      try space.update { transaction in
        try transaction.add(token)
        try transaction.append(operations, heads: operations.heads)
        throw Abandoned()
      }
      throw ConformanceFailure(.operationsAreAtomic, "an update that threw returned")
    } catch is Abandoned {
      let store = space.store
      try requireEqual(.operationsAreAtomic, try store.spaces(), [], "the spaces after a throw")
      try requireEqual(.operationsAreAtomic, try store.tokens(), [], "the tokens after a throw")
      try requireEqual(.operationsAreAtomic, try space.page().head, 0, "the head after a throw")
    }
    let before = try space.update { try $0.spacesBefore }
    try requireEqual(.operationsAreAtomic, before, 0, "the spaces before one that was not made")
  }

  static func checkReads(_ space: StoreSpace) throws {
    var a = StoreAuthor(1)
    try space.append(a.next(3))
    let (id, head) = (a.id, a.snapshotHead)
    let member = try MemberName("Ada")
    try space.update { transaction in
      try checkOwnSnapshot(transaction, [id: head])
      let lease = Lease(position: 2, renewed: .at(1))
      try transaction.set(lease, of: id)
      try requireEqual(.acknowledgedIsStored, try transaction.leases(), [id: lease], "own leases")
      try transaction.set(nil, of: id)
      try requireEqual(.acknowledgedIsStored, try transaction.leases(), [:], "removed leases")
      for kind in [MarkKind.stored, .trimmed] {
        let mark = PositionMark(position: 2, time: .at(1))
        try transaction.add(mark, kind)
        try requireEqual(.acknowledgedIsStored, try transaction.marks(kind), [mark], "own marks")
        try transaction.removeMarks(before: 3, kind)
        try requireEqual(.acknowledgedIsStored, try transaction.marks(kind), [], "removed marks")
      }
      let record = AuthorRecord(member: member, admitted: 4)
      try transaction.set(record, of: id)
      try requireEqual(
        .authorsAreMembers, try transaction.authorRecords(of: [id]), [id: record], "own records")
      try requireEqual(
        .authorsAreMembers, try transaction.authorCount(of: member), 1, "own ids of a member")
      try transaction.add(space.token("new", of: member))
      try requireEqual(
        .authorsAreMembers, try transaction.members(atMost: 9, withClaims: false), [member],
        "members of own tokens")
      let deadlines = SpaceDeadlines(refill: .at(1), trimming: .at(2))
      try transaction.set(deadlines)
      try requireEqual(.acknowledgedIsStored, try transaction.deadlines, deadlines, "own deadlines")
      try transaction.trim(through: 2)
      try requireEqual(.compactionIsUnseen, try transaction.trimmed, 2, "what was trimmed just now")
      let state = StoredState.reported(by: id, at: 3)
      try transaction.set(state)
      try requireEqual(.acknowledgedIsStored, try transaction.state, state, "an own report")
    }
  }

  private static func checkOwnSnapshot(
    _ transaction: any SpaceTransaction, _ heads: [ReplicaID: SnapshotHead]
  ) throws {
    let digest = PartDigest(part: [7])
    var snapshot = StoredSnapshot(
      id: "own", cursor: RemoteCursor(rawValue: "cursor"), position: 3, isBase: false, parts: 1,
      touched: .at(1))
    try transaction.add(snapshot, heads: heads)
    try transaction.addPart([7], digest: digest, index: 0, of: "own")
    (snapshot.bytes, snapshot.isComplete) = (1, true)
    try transaction.update(snapshot)
    try requireEqual(.acknowledgedIsStored, try transaction.snapshots(), [snapshot], "own ones")
    try requireEqual(.acknowledgedIsStored, try transaction.snapshot("own"), snapshot, "an own one")
    try requireEqual(
      .acknowledgedIsStored, try transaction.snapshotHeads(of: "own"), heads, "an own one's heads")
    try requireEqual(
      .acknowledgedIsStored, try transaction.storedParts(of: "own"), [0: digest], "its parts")
    try transaction.drop("own", keptFrom: .at(2))
    try requireEqual(.acknowledgedIsStored, try transaction.snapshots(), [], "after the drop")
    let dropped = try transaction.droppedSnapshots()
    try requireEqual(.acknowledgedIsStored, dropped.map(\.id), ["own"], "what was dropped just now")
    try requireEqual(
      .acknowledgedIsStored, try transaction.bringBack(dropped[0]), true, "bringing it back")
    try requireEqual(.acknowledgedIsStored, try transaction.snapshot("own"), snapshot, "after that")
  }
}
#endif
