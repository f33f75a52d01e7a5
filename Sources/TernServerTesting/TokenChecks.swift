#if Server
import TernCore
import TernServer
import TernTesting

/// What a store keeps of tokens.
enum TokenChecks {
  /// Five of two spaces, neither in the order of their making nor of their digests.
  private static func add(to space: StoreSpace) throws -> [TokenRecord] {
    let beside = try space.beside()
    let ada = try MemberName("Ada")
    let label = try TokenLabel("Ada's phone")
    let records = [("three", 3), ("one", 1), ("four", 4), ("two", 2), ("five", 5)].map {
      TokenRecord(
        digest: TokenDigest(token: $0), space: $1 % 2 == 0 ? space.name : beside.name,
        member: $1 > 2 ? ada : nil, label: $1 > 3 ? label : nil, created: .at($1),
        expires: $1 % 3 == 0 ? nil : .at(100 + $1))
    }
    for record in records {
      try space.store.update(record.space) { try $0.add(record) }
    }
    return records
  }

  static func checkTokens(_ space: StoreSpace) throws {
    let records = try add(to: space)
    let sorted = records.sorted { $0.created < $1.created }
    try requireEqual(.authorsAreMembers, try space.store.tokens(), sorted, "the oldest first")
    for record in records {
      let found = try space.store.token(record.digest)
      try requireEqual(.authorsAreMembers, found, record, "a token by its digest")
    }
    let unknown = TokenDigest(token: "six")
    try requireEqual(.authorsAreMembers, try space.store.token(unknown), nil, "an unknown token")
    let (removed, beside) = (sorted[1], try space.beside())
    func remove(_ token: TokenDigest, from name: SpaceName) throws -> TokenRecord? {
      try space.store.update(name) { try $0.remove(token) }
    }
    let other = removed.space == space.name ? beside.name : space.name
    try requireEqual(
      .authorsAreMembers, try remove(unknown, from: removed.space), nil, "removing an unknown one")
    try requireEqual(
      .spacesAreApart, try remove(removed.digest, from: other), nil, "removing another space's")
    try requireEqual(
      .authorsAreMembers, try remove(removed.digest, from: removed.space), removed,
      "removing a token")
    try requireEqual(
      .authorsAreMembers, try remove(removed.digest, from: removed.space), nil,
      "removing it twice")
    try requireEqual(
      .authorsAreMembers, try space.store.token(sorted[1].digest), nil, "a removed token")
    try requireEqual(
      .authorsAreMembers, try space.store.tokens(), [sorted[0]] + sorted[2...], "those left")
  }

  static func checkSeveral(_ space: StoreSpace) throws {
    let records = try add(to: space)
    _ = try space.store.update(records[1].space) { try $0.remove(records[1].digest) }
    let asked = records[..<4].map(\.digest) + [TokenDigest(token: "six")]
    let found = try space.store.tokens(of: asked)
    try requireEqual(
      .authorsAreMembers, Set(found), Set([records[0], records[2], records[3]]),
      "those that are there of several")
    try requireEqual(.authorsAreMembers, found.count, 3, "how many are there of several")
    try requireEqual(.authorsAreMembers, try space.store.tokens(of: []), [], "of none")
    // As many as a process has event streams, and more.
    let many = (0..<12_000).map { TokenDigest(token: "unknown \($0)") } + [records[4].digest]
    try requireEqual(
      .authorsAreMembers, try space.store.tokens(of: many), [records[4]], "of very many")
  }

  static func checkReplaced(_ space: StoreSpace) throws {
    var (own, late) = (space.token("own"), space.token("late"))
    own.expires = .at(9)
    let (other, beside) = (space.token("other"), try space.beside())
    let foreign = beside.token("foreign")
    for record in [own, late, other] { try space.update { try $0.add(record) } }
    try beside.update { try $0.add(foreign) }
    func replace(_ old: TokenRecord, at time: Int, by name: String) throws -> TokenRecord {
      var new = space.token(name, of: try MemberName("Ada"), created: 2)
      new.expires = .at(20)
      let found = try space.update {
        try $0.replaceToken(old.digest, expiring: .at(time), by: new)
      }
      try require(.authorsAreMembers, found, "a token that is there is not found")
      return new
    }
    // Never to a later moment than before.
    let first = try replace(own, at: 5, by: "first")
    let second = try replace(own, at: 12, by: "second")
    let third = try replace(late, at: 12, by: "third")
    (own.expires, late.expires) = (.at(5), .at(12))
    for (absent, what) in [(TokenDigest(token: "six"), "no"), (foreign.digest, "another")] {
      let found = try space.update {
        try $0.replaceToken(absent, expiring: .at(1), by: space.token("none"))
      }
      try require(.authorsAreMembers, !found, "a token of \(what) space is replaced")
    }
    try requireEqual(
      .authorsAreMembers, Set(try space.store.tokens()),
      [own, late, other, foreign, first, second, third], "the tokens after")
  }

  static func checkHeads(_ space: StoreSpace) throws {
    let beside = try space.beside()
    var a = StoreAuthor(1)
    try space.append(a.next(3))
    try beside.update { _ in }
    let absent = try SpaceName("absent")
    let heads = try space.store.heads(of: [space.name, beside.name, absent])
    let chain = try space.update { try $0.chain(at: 3) }
    try requireEqual(
      .spacesAreApart, heads,
      [space.name: SpaceHead(position: 3, chain: chain), beside.name: SpaceHead()],
      "the heads of several")
    try requireEqual(.spacesAreApart, try space.store.heads(of: []), [:], "of none")
    try requireEqual(
      .spacesAreApart, try space.store.spaces(), [beside.name, space.name], "the spaces after")
  }
}
#endif
