#if Server
import Foundation
import TernCore

/// A snapshot of a space as a store has it: an upload, or a whole one.
public struct StoredSnapshot: Hashable, Sendable {
  public let id: String
  /// Where pulling goes on after it. Of a base that is not whole, where the space has to stand.
  public var cursor: RemoteCursor
  /// The cursor's.
  public var position: UInt64
  public let isBase: Bool
  /// Whether it is whole, and can be seen.
  public var isComplete = false
  /// As it was offered.
  public let schema: SnapshotSchema?
  /// How many it is to have.
  public let parts: Int
  /// Of the parts that are stored.
  public var bytes = 0
  /// Why it was not taken, of an upload that was whole and failed the check. An operator may take
  /// it all the same.
  public var refusal: String?
  /// When the upload began, was last added to or was refused.
  public var touched: Date

  public init(
    id: String, cursor: RemoteCursor, position: UInt64, isBase: Bool,
    schema: SnapshotSchema? = nil, parts: Int, touched: Date
  ) {
    self.id = id
    self.cursor = cursor
    self.position = position
    self.isBase = isBase
    self.schema = schema
    self.parts = parts
    self.touched = touched
  }
}

/// A snapshot that gave way to newer ones, and whose bytes are kept for a while.
public struct DroppedSnapshot: Hashable, Sendable {
  public let id: String
  /// By which the store tells it from others of its id: one can be dropped twice.
  public let row: Int64
  public let position: UInt64
  public let bytes: Int
  /// When it was dropped.
  public var time: Date

  public init(id: String, row: Int64, position: UInt64, bytes: Int, time: Date) {
    self.id = id
    self.row = row
    self.position = position
    self.bytes = bytes
    self.time = time
  }
}

/// The SHA-256 of a snapshot's part, by which a repeat is told from other bytes.
public struct PartDigest: Hashable, Sendable {
  /// 32 bytes.
  public let bytes: [UInt8]

  public init(part: [UInt8]) {
    bytes = sha256(part)
  }

  /// The one whose ``bytes`` a store has kept.
  public init(stored bytes: [UInt8]) {
    self.bytes = bytes
  }
}

/// The snapshots of a space whose head is locked.
public protocol SnapshotRows: AnyObject {
  /// Those that are there, whole or not, the least position first.
  func snapshots() throws -> [StoredSnapshot]

  func snapshotHeads(of id: String) throws -> [ReplicaID: SnapshotHead]

  func add(_ snapshot: StoredSnapshot, heads: [ReplicaID: SnapshotHead]) throws

  /// Writes what can change of one that is there.
  func update(_ snapshot: StoredSnapshot) throws

  /// Lets one go: it is not there any more, though its bytes may be.
  ///
  /// - Parameter keptFrom: when it was dropped, where it can be brought back.
  func drop(_ id: String, keptFrom time: Date?) throws

  /// Those that can be brought back, the newest first.
  func droppedSnapshots() throws -> [DroppedSnapshot]

  /// Writes when one was dropped.
  func update(_ dropped: DroppedSnapshot) throws

  /// Brings one back, unless there is one of its name. Returns whether it did.
  func bringBack(_ dropped: DroppedSnapshot) throws -> Bool

  /// From now on it can't be brought back.
  func forget(_ dropped: DroppedSnapshot) throws

  /// Removes bytes of what was dropped and can't be brought back, about `contentBytes` and at
  /// least one part, so that no transaction is long. Returns whether there is more.
  func removeDropped(contentBytes: Int) throws -> Bool

  /// The parts that are stored, by their index.
  func storedParts(of id: String) throws -> [Int: PartDigest]

  func partDigest(_ index: Int, of id: String) throws -> PartDigest?

  func addPart(_ bytes: [UInt8], digest: PartDigest, index: Int, of id: String) throws
}

extension SnapshotRows {
  /// One of the few that are there.
  public func snapshot(_ id: String) throws -> StoredSnapshot? {
    try snapshots().first { $0.id == id }
  }
}
#endif
