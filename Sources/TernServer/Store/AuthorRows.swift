#if Server
@_spi(Rehearsal) import TernCore

/// Whose a replica id is in a space, and what the space takes of it.
public struct AuthorRecord: Hashable, Sendable {
  /// The member that claimed the id; `nil` while nobody has.
  public var member: MemberName?
  /// What others brought in its name.
  public var brought: BroughtOperations?
  /// Up to this sequence number others may bring what its member did not.
  public var admitted: UInt64?
  /// The last sequence number that the space takes; `nil` where that is no matter.
  public var bannedAfter: UInt64?

  public init(
    member: MemberName? = nil, brought: BroughtOperations? = nil, admitted: UInt64? = nil,
    bannedAfter: UInt64? = nil
  ) {
    self.member = member
    self.brought = brought
    self.admitted = admitted
    self.bannedAfter = bannedAfter
  }

  /// Whether a member may move the id's lease, and write what is new in its name.
  func isOpen(to member: MemberName?) -> Bool { self.member == nil || self.member == member }

  /// Whether a member says for an id how far it has read (INV-13). Only for one that it claimed,
  /// which greeting does: ids cost nothing to make up, and each one keeps what follows from being
  /// trimmed.
  ///
  /// - Parameter record: the id's, where there is one.
  static func canRead(_ record: AuthorRecord?, by member: MemberName?) -> Bool {
    let isOwn = record?.member == member || Planted.isActive(.leaseForged)
    return isOwn && record?.bannedAfter == nil
  }

  /// Whether a member claimed it, or alone brought it while nobody has.
  public func belongs(to member: MemberName) -> Bool {
    guard let owner = self.member else { return brought?.bringer == .member(member) }
    return owner == member
  }

  /// Whether the id counts as one of a member's, or of those that no token names.
  func counts(for member: MemberName?) -> Bool {
    guard bannedAfter == nil else { return false }
    guard self.member == nil else { return self.member == member }
    return brought?.bringer == Bringer(member)
  }

  /// What was brought later is there no more.
  mutating func forget(after sequence: UInt64) {
    guard var known = brought else { return }
    known.last = min(known.last, sequence)
    brought = known.first <= known.last ? known : nil
  }

  /// Notes that somebody brought operations, where that is not the member that claimed the id. Of
  /// what is not the next of those that are noted, nobody is named for any.
  mutating func noteBrought(_ sequences: ClosedRange<UInt64>, by bringer: Bringer) {
    if let member, bringer == .member(member) { return }
    guard var known = brought else {
      brought = BroughtOperations(
        first: sequences.lowerBound, last: sequences.upperBound, by: bringer)
      return
    }
    if known.bringer != bringer || sequences.lowerBound != known.last + 1 {
      known.bringer = .several
    }
    known.last = sequences.upperBound
    brought = known
  }
}

/// Operations of an author that somebody else brought.
public struct BroughtOperations: Hashable, Sendable {
  public var first: UInt64
  public var last: UInt64
  public var bringer: Bringer

  public init(first: UInt64, last: UInt64, by bringer: Bringer) {
    self.first = first
    self.last = last
    self.bringer = bringer
  }
}

/// Who brought them.
public enum Bringer: Hashable, Sendable {
  case member(MemberName)
  /// Somebody with a token that names no member.
  case unnamed
  case several

  init(_ member: MemberName?) { self = member.map { .member($0) } ?? .unnamed }
}

/// Whose the replica ids of a space are, while its head is locked.
public protocol AuthorRows: AnyObject {
  /// The records of those authors that have one.
  func authorRecords(of authors: Set<ReplicaID>) throws -> [ReplicaID: AuthorRecord]

  /// Writes an author's record.
  func set(_ record: AuthorRecord, of author: ReplicaID) throws

  /// How many authors that are not banned have written into the space.
  var authorCount: Int { get throws }

  /// How many authors have written into the space, banned ones too.
  var headCount: Int { get throws }

  /// How many ids that are not banned a member has: those that it claimed, and those unclaimed ones
  /// that it alone brought; of `nil` those brought with tokens that name no member.
  func authorCount(of member: MemberName?) throws -> Int

  /// What was counted of all ids when the transaction began.
  var counted: CountedOperations { get throws }

  /// The same of those that ``authorCount(of:)`` counts.
  func counted(of member: MemberName?) throws -> CountedOperations

  /// Whom the space's tokens name, so many of them at most; with `claims`, also who has claimed a
  /// replica id that is not banned.
  func members(atMost count: Int, withClaims claims: Bool) throws -> Set<MemberName>
}
#endif
