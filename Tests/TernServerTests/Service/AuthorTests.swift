#if Server
import TernCore
import Testing

@testable import TernServer

/// INV-13.
@Suite("Service: whose a replica id is")
struct AuthorTests {
  private let anna = MemberName(stored: "anna")
  private let mallory = MemberName(stored: "mallory")

  /// A space in which Anna's replica has claimed its id and written two operations.
  private func service(
    _ kind: StoreKind, _ ada: inout Author, limits: (inout ServerLimits) -> Void = { _ in }
  ) throws -> SpaceService {
    let service = try kind.open().service(limits)
    try service.claim(ada.replica, by: anna, in: .home)
    _ = try service.push(ada.write(count: 2), to: .home, by: anna)
    return service
  }

  @Test(
    "only the member that claimed an id writes what is new in its name",
    arguments: StoreKind.allCases)
  func stranger(kind: StoreKind) throws {
    var ada = Author(1)
    let service = try service(kind, &ada)
    var forged = ada
    for member in [mallory, nil] {
      let error = refusal { _ = try service.push([forged.write("forged")], to: .home, by: member) }
      #expect(error?.code == .authorClaimed && error?.replica == ada.replica)
      forged = ada
    }
    #expect(try everything(service).count == 2)
    // What the space has is acknowledged to anybody, and what is Anna's own goes on.
    var again = Author(1)
    #expect(try service.push(again.write(count: 2), to: .home, by: mallory).accepted == 0)
    #expect(try service.push([ada.write()], to: .home, by: anna).accepted == 1)
  }

  @Test("one refused operation keeps back the whole push", arguments: StoreKind.allCases)
  func allOrNothing(kind: StoreKind) throws {
    var (ada, eve) = (Author(1), Author(5))
    let service = try service(kind, &ada)
    let error = refusal {
      _ = try service.push([eve.write(), ada.write()], to: .home, by: mallory)
    }
    #expect(error?.code == .authorClaimed)
    #expect(try service.greet(.home).heads[eve.replica] == 0)
    #expect(try service.store.authorRecord(of: eve.replica, in: .home) == nil)
  }

  @Test(
    "whoever brings what nobody has claimed is named, until its own device greets",
    arguments: StoreKind.allCases)
  func brought(kind: StoreKind) throws {
    var (ada, bob) = (Author(1), Author(2))
    let service = try service(kind, &ada)
    _ = try service.push(bob.write(count: 3), to: .home, by: mallory)
    #expect(
      try service.greet(.home).authors[bob.replica]
        == RemoteAuthor(brought: 1...3, broughtBy: "mallory"))
    _ = try service.push(bob.write(count: 1), to: .home, by: anna)
    #expect(try service.greet(.home).authors[bob.replica] == RemoteAuthor(brought: 1...4))
    // A device of Anna's was it.
    try service.claim(bob.replica, by: anna, in: .home)
    _ = try service.push([bob.write()], to: .home, by: anna)
    #expect(
      try service.greet(.home).authors[bob.replica]
        == RemoteAuthor(member: "anna", brought: 1...4))
    #expect(try service.greet(.home).authors[ada.replica] == RemoteAuthor(member: "anna"))
  }

  @Test("a claimed id is told to whoever greets under it", arguments: StoreKind.allCases)
  func greeting(kind: StoreKind) throws {
    let ada = Author(1)
    var writing = ada
    let service = try service(kind, &writing)
    #expect(try !service.greet(.home, as: ada.replica, by: anna).isClaimed)
    #expect(try service.greet(.home, as: ada.replica, by: mallory).isClaimed)
    #expect(try service.greet(.home, as: ada.replica, by: nil).isClaimed)
    // Claiming it changes nothing.
    try service.claim(ada.replica, by: mallory, in: .home)
    #expect(try service.store.authorRecord(of: ada.replica, in: .home)?.member == anna)
    // A token without a member claims nothing, and is told of nothing that is nobody's.
    let bob = Author(2).replica
    #expect(try !service.canClaim(bob, nil, in: .home))
    #expect(try !service.greet(.home, as: bob).isClaimed)
  }

  @Test("nobody moves the lease of another member's replica", arguments: StoreKind.allCases)
  func lease(kind: StoreKind) throws {
    var ada = Author(1)
    let service = try service(kind, &ada)
    let end = try service.pull(from: .home, after: nil, excluding: ada.replica, by: anna).cursor
    #expect(try service.store.lease(of: ada.replica, in: .home)?.position == 0)
    let page = try service.pull(from: .home, after: end, excluding: ada.replica, by: mallory)
    #expect(page.operations.isEmpty)
    #expect(try service.store.lease(of: ada.replica, in: .home)?.position == 0)
    #expect(service.leases[.home, ada.replica] == nil)
  }

  @Test(
    "nobody reports the state of another member's replica, or of a banned one",
    arguments: StoreKind.allCases)
  func report(kind: StoreKind) throws {
    var ada = Author(1)
    let service = try service(kind, &ada)
    func report(_ replica: ReplicaID, _ rows: UInt64) throws -> StateReport {
      StateReport(
        replica: replica, cursor: try service.end(), operations: 1,
        tables: ["book": .init(shape: 1, rows: rows)])
    }
    let (own, forged) = (try report(ada.replica, 1), try report(ada.replica, 2))
    for member in [mallory, nil] {
      let error = refusal { try service.report(forged, in: .home, by: member) }
      #expect(error?.code == .authorClaimed && error?.replica == ada.replica)
      #expect(try service.greet(.home).state == nil)
    }
    try service.report(own, in: .home, by: anna)
    #expect(try service.greet(.home).state == own)
    // What it said before it was banned is told nobody, and holds back no other.
    try service.ban(ada.replica, in: .home)
    #expect(try service.greet(.home).state == nil)
    #expect(try service.greet(.home).wantsState)
    #expect(refusal { try service.report(own, in: .home, by: anna) }?.code == .authorBanned)
    let other = try report(Author(5).replica, 3)
    try service.report(other, in: .home, by: mallory)
    #expect(try service.greet(.home).state == other)
  }

  @Test(
    "a ban takes what the space has, and nothing that follows, from nobody",
    arguments: StoreKind.allCases)
  func ban(kind: StoreKind) throws {
    var ada = Author(1)
    let service = try service(kind, &ada)
    _ = try service.pull(from: .home, after: nil, excluding: ada.replica, by: anna)
    #expect(try service.ban(ada.replica, in: .home) == 2)
    let next = ada.write()
    for member in [anna, mallory, nil] {
      let error = refusal { _ = try service.push([next], to: .home, by: member) }
      #expect(error?.code == .authorBanned && error?.isTransient == false)
    }
    #expect(try everything(service).count == 2)
    var again = Author(1)
    #expect(try service.push(again.write(count: 2), to: .home).accepted == 0)
    #expect(try service.greet(.home).authors[ada.replica]?.bannedAfter == 2)
    #expect(try service.greet(.home).heads[ada.replica] == 2)
    // It holds nothing back, and does not begin to.
    _ = try service.pull(from: .home, after: nil, excluding: ada.replica, by: anna)
    #expect(try service.maintain(.home) == false)
    #expect(try service.store.lease(of: ada.replica, in: .home) == nil)
    // A second time it says the same.
    #expect(try service.ban(ada.replica, in: .home) == 2)
    #expect(try service.unban(ada.replica, in: .home))
    #expect(try service.push([next], to: .home, by: anna).accepted == 1)
  }

  @Test("an id that wrote nothing can be banned", arguments: StoreKind.allCases)
  func banBefore(kind: StoreKind) throws {
    var (ada, eve) = (Author(1), Author(5))
    let service = try service(kind, &ada)
    #expect(try service.ban(eve.replica, in: .home) == 0)
    #expect(refusal { _ = try service.push([eve.write()], to: .home) }?.code == .authorBanned)
    try service.claim(eve.replica, by: mallory, in: .home)
    #expect(try service.store.authorRecord(of: eve.replica, in: .home)?.member == nil)
  }

  @Test("a ban holds for bases too, and a refill lifts only quotas", arguments: StoreKind.allCases)
  func banAndBase(kind: StoreKind) throws {
    var ada = Author(1)
    let service = try service(kind, &ada) { $0.authorsPerMember = 1 }
    try service.ban(ada.replica, in: .home)
    var eve = Author(5)
    #expect(try service.push([eve.write()], to: .home, by: mallory).accepted == 1)
    var fay = Author(6)
    #expect(
      refusal { _ = try service.push([fay.write()], to: .home, by: mallory) }?.code
        == .tooManyReplicas)
    _ = try service.refill(.home)
    var again = Author(6)
    #expect(try service.push([again.write()], to: .home, by: mallory).accepted == 1)
    _ = ada.write()
    let offer = try SnapshotOffer("base", at: service.end(), of: [ada, eve, again], isBase: true)
    let error = refusal { _ = try service.beginSnapshot(offer, in: .home) }
    #expect(error?.code == .authorBanned && error?.replica == ada.replica)
  }

  @Test("an operator admits what a member can't bring any more", arguments: StoreKind.allCases)
  func admit(kind: StoreKind) throws {
    var ada = Author(1)
    let service = try service(kind, &ada)
    let rest = ada.write(count: 3)
    #expect(try service.admit(ada.replica, through: 4, in: .home))
    let error = refusal { _ = try service.push(rest, to: .home, by: mallory) }
    #expect(error?.code == .authorClaimed && error?.sequence == 5)
    #expect(try service.push(Array(rest.prefix(2)), to: .home, by: mallory).accepted == 2)
    // The id is Anna's, and these two are nobody's word but Mallory's.
    #expect(
      try service.greet(.home).authors[ada.replica]
        == RemoteAuthor(member: "anna", brought: 3...4, broughtBy: "mallory"))
    #expect(try service.assign(ada.replica, to: mallory, in: .home))
    #expect(try service.push([rest[2]], to: .home, by: mallory).accepted == 1)
    #expect(try !service.assign(Author(9).replica, to: anna, in: .home))
  }

  @Test("a banned author is admitted only after it", arguments: StoreKind.allCases)
  func admitBanned(kind: StoreKind) throws {
    var ada = Author(1)
    let service = try service(kind, &ada)
    try service.ban(ada.replica, in: .home)
    let error = refusal { try service.admit(ada.replica, through: 9, in: .home) }
    #expect(error?.code == .authorBanned && error?.replica == ada.replica)
    #expect(error?.message.contains("tern replica unban") == true)
    // As a file may have it.
    try service.store.update(.home) { [ada] transaction in
      var record = try #require(try transaction.authorRecords(of: [ada.replica])[ada.replica])
      record.admitted = 9
      try transaction.set(record, of: ada.replica)
    }
    #expect(try service.unban(ada.replica, in: .home))
    #expect(
      refusal { _ = try service.push([ada.write()], to: .home, by: mallory) }?.code
        == .authorClaimed)
  }

  @Test("nobody is named for what an owner wrote in between", arguments: StoreKind.allCases)
  func broughtInBetween(kind: StoreKind) throws {
    var (ada, bob) = (Author(1), Author(2))
    let service = try service(kind, &ada)
    _ = try service.push(bob.write(count: 2), to: .home, by: mallory)
    try service.claim(bob.replica, by: anna, in: .home)
    _ = try service.push(bob.write(count: 2), to: .home, by: anna)
    try service.assign(bob.replica, to: nil, in: .home)
    _ = try service.push([bob.write()], to: .home, by: mallory)
    #expect(try service.greet(.home).authors[bob.replica] == RemoteAuthor(brought: 1...5))
  }

  @Test("one member's made-up ids leave room for others", arguments: StoreKind.allCases)
  func quota(kind: StoreKind) throws {
    var ada = Author(1)
    let service = try service(kind, &ada) { limits in
      (limits.authorsPerMember, limits.replicasPerSpace) = (3, 12)
    }
    func pushNew(_ numbers: Range<UInt64>, by member: MemberName?) throws {
      let operations = numbers.map { number in
        var author = Author(number)
        return author.write()
      }
      _ = try service.push(operations, to: .home, by: member)
    }
    try pushNew(10..<13, by: mallory)
    let error = refusal { try pushNew(13..<14, by: mallory) }
    #expect(error?.code == .tooManyReplicas)
    #expect(error?.message.hasPrefix("authorsPerMember: ") == true)
    // A claim would be one more: the id stays nobody's.
    try service.claim(Author(13).replica, by: mallory, in: .home)
    #expect(try service.store.authorRecord(of: Author(13).replica, in: .home) == nil)
    // Others have room, those whom no token names among them.
    try pushNew(20..<22, by: anna)
    try pushNew(30..<33, by: nil)
    #expect(refusal { try pushNew(33..<34, by: nil) }?.code == .tooManyReplicas)
    // Banned ones do not count.
    try service.ban(Author(10).replica, in: .home)
    try pushNew(13..<14, by: mallory)
    // An operator raises it for the space.
    try service.setQuota(SpaceQuota(authors: 5), of: .home)
    try pushNew(14..<16, by: mallory)
    // The space's own limit stays.
    let full = refusal { try pushNew(40..<43, by: anna) }
    #expect(full?.message.hasPrefix("replicasPerSpace: ") == true)
  }

  @Test("half of what is left is one member's", arguments: StoreKind.allCases)
  func half(kind: StoreKind) throws {
    var ada = Author(1)
    let service = try service(kind, &ada) { $0.replicasPerSpace = 9 }
    var taken = 0
    for number in 10..<UInt64(30) {
      var author = Author(number)
      guard (try? service.push([author.write()], to: .home, by: mallory)) != nil else { break }
      taken += 1
    }
    #expect(taken == 4)
    var other = Author(50)
    #expect(try service.push([other.write()], to: .home, by: anna).accepted == 1)
  }

  @Test("a member's name is any text that a terminal can show")
  func names() throws {
    for text in ["anna", "auth0|5f7c", "anna@example.org", "Žofie Nováková"] {
      #expect(try MemberName(text).text == text)
    }
    for text in ["", " anna", "an\u{1B}[31mna", "a\nb", String(repeating: "x", count: 256)] {
      #expect(refusal { _ = try MemberName(text) }?.code == .malformed)
    }
  }
}
#endif
