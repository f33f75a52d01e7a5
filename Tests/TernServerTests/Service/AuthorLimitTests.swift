#if Server
import TernCore
import Testing

@testable import TernServer

/// INV-10 and INV-13.
@Suite("Service: how many replica ids a space takes")
struct AuthorLimitTests {
  private let anna = MemberName(stored: "anna")
  private let mallory = MemberName(stored: "mallory")

  private func written(_ numbers: ClosedRange<UInt64>) -> [Author] {
    numbers.map { number in
      var author = Author(number)
      _ = author.write()
      return author
    }
  }

  private func pushNew(_ number: UInt64, by member: MemberName?, _ service: SpaceService) throws {
    var author = Author(number)
    _ = try service.push([author.write()], to: .home, by: member)
  }

  private func give(_ offer: SnapshotOffer, by member: MemberName?, _ service: SpaceService) throws
  {
    let id = try service.beginSnapshot(offer, in: .home, by: member).id
    for (index, part) in try offer.partsWithoutRows().enumerated() {
      try service.putSnapshotPart(part, index: index, of: id, in: .home)
    }
    _ = try service.completeSnapshot(id, in: .home, by: member)
  }

  @Test("a base brings no more ids than a member may have", arguments: StoreKind.allCases)
  func base(kind: StoreKind) throws {
    let service = try kind.open().service { $0.authorsPerMember = 3 }
    let authors = written(10...13)
    let large = SnapshotOffer("large", at: nil, of: authors, isBase: true)
    for member in [mallory, nil] {
      let error = refusal { try give(large, by: member, service) }
      #expect(error?.code == .refillNeeded)
      #expect(error?.message.contains("tern space refill") == true)
    }
    try give(
      SnapshotOffer("small", at: nil, of: authors.dropLast(), isBase: true), by: mallory, service)
    #expect(
      try service.greet(.home).authors[authors[0].replica]
        == RemoteAuthor(brought: 1...1, broughtBy: "mallory"))
    // They count as that member's from then on.
    #expect(refusal { try pushNew(13, by: mallory, service) }?.code == .tooManyReplicas)
    try pushNew(13, by: anna, service)
  }

  @Test("an operator opens a space for a base of more ids", arguments: StoreKind.allCases)
  func opened(kind: StoreKind) throws {
    let service = try kind.open().service { $0.authorsPerMember = 3 }
    var ada = Author(1)
    try service.claim(ada.replica, by: anna, in: .home)
    _ = ada.write(count: 4)
    try service.refill(.home)
    let offer = SnapshotOffer("all", at: nil, of: written(10...14) + [ada], isBase: true)
    try give(offer, by: mallory, service)
    let known = try service.greet(.home).authors
    #expect(known[Author(14).replica]?.broughtBy == "mallory")
    #expect(
      known[ada.replica]
        == RemoteAuthor(member: "anna", brought: 1...4, broughtBy: "mallory"))
  }

  @Test("what an operator accepts counts for no member", arguments: StoreKind.allCases)
  func accepted(kind: StoreKind) throws {
    let service = try kind.open().service { $0.authorsPerMember = 3 }
    try pushNew(1, by: anna, service)
    func accept(_ key: String, _ authors: [Author]) throws {
      let offer = SnapshotOffer(key, at: try service.end(), of: authors, isBase: true)
      let id = try service.beginSnapshot(offer, in: .home, by: mallory).id
      for index in 0..<offer.parts {
        try service.putSnapshotPart([7, UInt8(index)], index: index, of: id, in: .home)
      }
      let error = refusal { try service.completeSnapshot(id, in: .home, by: mallory) }
      #expect(error?.code == .snapshotRefused)
      _ = try service.acceptSnapshot(id, in: .home)
    }
    func counts() throws -> [Int] {
      try service.store.update(.home) {
        [try $0.authorCount, try $0.authorCount(of: anna), try $0.authorCount(of: mallory)]
      }
    }
    var authors = written(1...1) + written(10...12)
    try accept("new", authors)
    #expect(
      try service.greet(.home).authors[authors[1].replica] == RemoteAuthor(brought: 1...1))
    #expect(try counts() == [4, 1, 0])
    // One that names nobody new changes no count, whatever more it has of those who are there.
    for index in authors.indices { _ = authors[index].write() }
    try service.refill(.home)
    try service.setQuota(SpaceQuota(authors: 0), of: .home)
    // The end is that of the snapshot: nobody pulls over a base.
    try accept("known", authors)
    #expect(try service.greet(.home).heads[authors[1].replica] == 2)
    #expect(try counts() == [4, 0, 0])
  }

  @Test("a snapshot names banned authors beyond the limit too", arguments: StoreKind.allCases)
  func banned(kind: StoreKind) throws {
    let service = try kind.open().service {
      ($0.replicasPerSpace, $0.headsPerSpace) = (3, 5)
    }
    try pushNew(1, by: anna, service)
    try service.setQuota(SpaceQuota(authors: 100), of: .home)
    for number in 2...UInt64(3) { try pushNew(number, by: anna, service) }
    try service.ban(Author(1).replica, in: .home)
    try pushNew(4, by: anna, service)
    try service.upload(SnapshotOffer("a", at: service.end(), of: written(1...4)))
    #expect(try service.greet(.home).snapshot?.heads.sequences.count == 4)
    // There are never more of them than a snapshot can name.
    for number in 2...UInt64(3) { try service.ban(Author(number).replica, in: .home) }
    try pushNew(5, by: anna, service)
    let error = refusal { try pushNew(6, by: anna, service) }
    #expect(error?.code == .tooManyReplicas)
    #expect(error?.message.hasPrefix("replicasPerSpace: ") == true)
    try service.upload(SnapshotOffer("b", at: service.end(), of: written(1...5)))
  }

  @Test("an id that is claimed counts when it writes first", arguments: StoreKind.allCases)
  func claimed(kind: StoreKind) throws {
    let service = try kind.open().service { $0.replicasPerSpace = 4 }
    for number in 1...UInt64(2) { try service.claim(Author(number).replica, by: anna, in: .home) }
    try service.setQuota(SpaceQuota(authors: 10), of: .home)
    for (number, member) in [(10, mallory), (11, mallory), (12, nil)]
      as [(UInt64, MemberName?)]
    {
      try pushNew(number, by: member, service)
    }
    try pushNew(1, by: anna, service)
    let error = refusal { try pushNew(2, by: anna, service) }
    #expect(error?.message.hasPrefix("replicasPerSpace: ") == true)
    // What wrote before goes on.
    var ada = Author(1)
    #expect(try service.push(ada.write(count: 2), to: .home, by: anna).accepted == 1)
  }
}
#endif
