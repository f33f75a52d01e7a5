#if Server
import TernCore
import TernServer
import TernTesting

/// Authors' records, what is counted of them, and members.
enum AuthorChecks {
  static func checkRecords(_ space: StoreSpace) throws {
    let (ada, bob) = try (MemberName("Ada"), MemberName("Bob Ünder"))
    let records = [
      AuthorRecord(member: ada),
      AuthorRecord(brought: BroughtOperations(first: 1, last: 3, by: .member(bob)), admitted: 5),
      AuthorRecord(brought: BroughtOperations(first: 2, last: 2, by: .unnamed)),
      AuthorRecord(
        member: bob, brought: BroughtOperations(first: 1, last: 9, by: .several), bannedAfter: 7),
      AuthorRecord(member: ada, admitted: 0, bannedAfter: 0),
    ]
    let ids = (1...5).map { StoreAuthor($0).id }
    for (id, record) in zip(ids, records) { try space.update { try $0.set(record, of: id) } }
    let all = Dictionary(uniqueKeysWithValues: zip(ids, records))
    let (store, name) = (space.store, space.name)
    try requireEqual(.authorsAreMembers, try store.authorRecords(of: name), all, "all records")
    for (id, record) in all {
      let found = try store.authorRecord(of: id, in: name)
      try requireEqual(.authorsAreMembers, found, record, "a record")
    }
    let stranger = StoreAuthor(9).id
    let some = try space.update { try $0.authorRecords(of: [ids[0], stranger]) }
    try requireEqual(.authorsAreMembers, some, [ids[0]: records[0]], "the records of some")
    let none = try store.authorRecord(of: stranger, in: name)
    try requireEqual(.authorsAreMembers, none, nil, "the record of a stranger")
    // What is `nil` now takes the place of what was there.
    for (id, record) in zip(ids, records.reversed()) {
      try space.update { try $0.set(record, of: id) }
    }
    try requireEqual(
      .authorsAreMembers, try store.authorRecords(of: name),
      Dictionary(uniqueKeysWithValues: zip(ids, records.reversed())), "records that changed")
  }

  /// Authors of all sorts, with so many operations each as their number says.
  private static func writeAll(_ space: StoreSpace, _ ada: MemberName, _ bob: MemberName) throws
    -> [[NewOperation]]
  {
    func brought(_ bringer: Bringer) -> BroughtOperations {
      BroughtOperations(first: 1, last: 1, by: bringer)
    }
    let records = [
      AuthorRecord(member: ada), AuthorRecord(brought: brought(.member(ada))),
      AuthorRecord(member: ada, bannedAfter: 1),
      AuthorRecord(member: bob, brought: brought(.member(ada))),
      AuthorRecord(brought: brought(.several)), AuthorRecord(brought: brought(.unnamed)),
    ]
    var written: [[NewOperation]] = []
    for (index, record) in records.enumerated() {
      var author = StoreAuthor(UInt64(index) + 1)
      written.append(author.next(index + 1, bytes: 1 << index))
      try space.append(written[index])
      try space.update { try $0.set(record, of: author.id) }
    }
    // One of whom nothing is known, and a record of one who wrote nothing.
    var unknown = StoreAuthor(7)
    written.append(unknown.next(7))
    try space.append(written[6])
    try space.update { try $0.set(AuthorRecord(member: bob), of: StoreAuthor(8).id) }
    return written
  }

  static func checkAuthors(_ space: StoreSpace) throws {
    let (ada, bob) = try (MemberName("Ada"), MemberName("Bob"))
    _ = try writeAll(space, ada, bob)
    let eve = try MemberName("Eve")
    try space.update { transaction in
      try requireEqual(.limitsHold, try transaction.headCount, 7, "who has written")
      try requireEqual(.limitsHold, try transaction.authorCount, 6, "who has written, not banned")
      for (member, count) in [(ada, 2), (bob, 2), (eve, 0), (nil, 1)] as [(MemberName?, Int)] {
        let who = member.map { "\($0)" } ?? "nobody"
        try requireEqual(
          .authorsAreMembers, try transaction.authorCount(of: member), count, "the ids of \(who)")
      }
    }
  }

  static func checkCounted(_ space: StoreSpace) throws {
    let (ada, bob) = try (MemberName("Ada"), MemberName("Bob"))
    let written = try writeAll(space, ada, bob)
    let all = written.flatMap(\.self)
    let expected: [(MemberName?, [NewOperation])] = [
      (ada, written[0] + written[1]), (bob, written[3]), (nil, written[5]),
      (try MemberName("Eve"), []),
    ]
    try space.update { transaction in
      try requireEqual(.limitsHold, try transaction.counted, all.counted, "counted of all")
      for (member, operations) in expected {
        let who = member.map { "\($0)" } ?? "nobody"
        try requireEqual(
          .limitsHold, try transaction.counted(of: member), operations.counted, "counted of \(who)")
      }
    }
    let usage = try space.usage
    try requireEqual(.limitsHold, usage.operations, all.count, "all operations")
    try requireEqual(.limitsHold, usage.bytes, all.byteCount, "all bytes")
    try requireEqual(.limitsHold, usage.banned, written[2].counted, "of the banned author")
    // What was trimmed counts for nobody.
    try space.update { transaction in
      try transaction.trim(through: 2)
      while try transaction.releaseTrimmed(operations: 1) {}
    }
    let rest = written[0].dropFirst() + written[1].dropFirst()
    let counted = try space.update { try $0.counted(of: ada) }
    try requireEqual(.limitsHold, counted, Array(rest).counted, "counted after trimming")
  }

  static func checkMembers(_ space: StoreSpace) throws {
    let names = try ["Ada", "Bob", "Cleo"].map { try MemberName($0) }
    let beside = try space.beside()
    try space.update { transaction in
      for (index, member) in (names + [names[0]]).enumerated() {
        try transaction.add(space.token("\(index)", of: member, created: index))
      }
      try transaction.add(space.token("unnamed", created: 9))
    }
    let stranger = try MemberName("Abe")
    try beside.update { try $0.add(beside.token("other", of: stranger)) }
    func members(_ count: Int, withClaims claims: Bool = false) throws -> Set<MemberName> {
      try space.update { try $0.members(atMost: count, withClaims: claims) }
    }
    try requireEqual(.authorsAreMembers, try members(9), Set(names), "the members")
    let some = try members(2)
    try require(
      .limitsHold, some.count == 2 && some.isSubset(of: names), "two members are \(some)")
    try space.update { transaction in
      for token in ["1", "0"] { _ = try transaction.remove(TokenDigest(token: token)) }
    }
    try requireEqual(
      .authorsAreMembers, try members(9), [names[0], names[2]], "the members that have a token left"
    )
    let (dan, eve) = (try MemberName("Dan"), try MemberName("Eve"))
    try space.update { transaction in
      try transaction.set(AuthorRecord(member: dan), of: StoreAuthor(1).id)
      try transaction.set(AuthorRecord(member: eve, bannedAfter: 3), of: StoreAuthor(2).id)
      try transaction.set(AuthorRecord(admitted: 3), of: StoreAuthor(3).id)
    }
    try requireEqual(
      .authorsAreMembers, try members(9), [names[0], names[2]], "the members without claims")
    try requireEqual(
      .authorsAreMembers, try members(9, withClaims: true), [names[0], names[2], dan],
      "the members with those that claimed an id")
  }
}
#endif
