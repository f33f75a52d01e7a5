#if Server
import Foundation
import TernCore

/// What is answered to a change.
struct ChangeDocument: Encodable, Sendable {
  /// Whether it was otherwise before; a change that is repeated may say so too.
  var changed: Bool
  var now: Int64
  /// Until when it holds.
  var until: Int64?
  var bannedAfter: UInt64?
}

struct RestoredDocument: Encodable, Sendable {
  var trimmed: UInt64
  var operations: UInt64
  var snapshots: [String]
  var bytes: Int
  var mostBytes: Int

  init(_ restored: RestoredSpace) {
    (trimmed, operations) = (restored.trimmed, restored.operations)
    snapshots = restored.snapshots
    (bytes, mostBytes) = (restored.bytes, restored.mostBytes)
  }
}

/// A space in a list.
struct SpaceDocument: Encodable, Sendable {
  var name: String
  var position: UInt64?
  var bytes: Int?
  var operations: Int?
  var keptBytes: Int?
  var quota: Quota?
  var suspended: Int64?
  var phase: String?
  /// Why the rest is not known.
  var damaged: String?

  /// Without what is the server's limit.
  struct Quota: Encodable, Sendable {
    var bytes: Int?
    var operations: Int?
    var authors: Int?
    var share: Int?
  }

  init(_ name: SpaceName, _ summary: SpaceSummary, _ usage: SpaceUsage) {
    self.name = name.text
    position = summary.position
    (bytes, operations, keptBytes) = (usage.bytes, usage.operations, usage.keptBytes)
    quota = Quota(
      bytes: usage.quota.bytes, operations: usage.quota.operations, authors: usage.quota.authors,
      share: usage.quota.share)
    suspended = summary.suspended?.milliseconds
    phase = "\(summary.standing.phase)"
  }

  init(_ name: SpaceName, damaged: String) {
    (self.name, self.damaged) = (name.description, damaged)
  }
}

struct SpacesDocument: Encodable, Sendable {
  var spaces: [SpaceDocument]
  var more: Bool
}

struct SpaceDetailsDocument: Encodable, Sendable {
  var space: SpaceDocument
  var horizon: HorizonDocument
  var replicas: [ReplicaDocument]
  var tokens: [TokenDocument]
  var snapshots: [SnapshotDocument]
}

/// What a space waits for before it trims, and who holds it back.
struct HorizonDocument: Encodable, Sendable {
  var trimmed: UInt64
  var snapshot: UInt64
  /// The one that has read least first.
  var readers: [Reader]

  struct Reader: Encodable, Sendable {
    var replica: String
    var member: String?
    var position: UInt64
    var renewed: Int64
  }

  init(_ horizon: SpaceHorizon) {
    (trimmed, snapshot) = (horizon.trimmed, horizon.snapshot)
    readers = horizon.readers.map {
      Reader(
        replica: "\($0.replica)", member: $0.member?.text, position: $0.lease.position,
        renewed: $0.lease.renewed.milliseconds)
    }
  }
}

struct ReplicaDocument: Encodable, Sendable {
  var replica: String
  var sequence: UInt64
  var member: String?
  var lease: UInt64?
  var brought: Brought?
  var admitted: UInt64?
  var bannedAfter: UInt64?

  /// Operations that others brought; of no member where those were several, or had no name.
  struct Brought: Encodable, Sendable {
    var first: UInt64
    var last: UInt64
    var member: String?
  }

  init(_ replica: ReplicaID, _ author: SpaceAuthor) {
    let record = author.record
    self.replica = "\(replica)"
    (sequence, lease) = (author.sequence, author.lease)
    member = record.member?.text
    (admitted, bannedAfter) = (record.admitted, record.bannedAfter)
    brought = record.brought.map { brought in
      var document = Brought(first: brought.first, last: brought.last)
      if case .member(let name) = brought.bringer { document.member = name.text }
      return document
    }
  }
}

/// A token without what it opens its space with.
struct TokenDocument: Encodable, Sendable {
  /// The first 16 hexadecimal digits of its digest.
  var id: String
  var space: String
  var member: String?
  var label: String?
  var created: Int64
  var expires: Int64?

  init(_ token: TokenRecord) {
    (id, space) = ("\(token.digest)", token.space.text)
    (member, label) = (token.member?.text, token.label?.text)
    (created, expires) = (token.created.milliseconds, token.expires?.milliseconds)
  }
}

/// The one answer that has a token.
struct NewTokenDocument: Encodable, Sendable {
  var token: String
  var record: TokenDocument
}

struct SnapshotDocument: Encodable, Sendable {
  var id: String
  var position: UInt64
  var bytes: Int
  var touched: Int64
  var isComplete: Bool
  var isBase: Bool
  var refusal: String?

  init(_ snapshot: StoredSnapshot) {
    (id, position, bytes) = (snapshot.id, snapshot.position, snapshot.bytes)
    touched = snapshot.touched.milliseconds
    (isComplete, isBase, refusal) = (snapshot.isComplete, snapshot.isBase, snapshot.refusal)
  }
}

struct AuditDocument: Encodable, Sendable {
  var records: [AuditRecordDocument]
  var more: Bool
}

struct AuditRecordDocument: Encodable, Sendable {
  var number: UInt64
  var time: Int64
  var actor: String
  var action: String
  var space: String
  var details: [String: String]

  init(_ record: AuditRecord) {
    let entry = record.entry
    (number, time) = (record.number, entry.time.milliseconds)
    (actor, action, space) = (entry.actor.text, entry.action.rawValue, entry.space.text)
    details = entry.details
  }
}
#endif
