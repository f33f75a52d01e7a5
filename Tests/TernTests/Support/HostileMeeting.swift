import ReplicaStoreKit
import Tern
import Testing

/// A device that meets a hostile remote, and another that shares an honest one with it.
struct HostileMeeting {
  let device: ReplicaStoreConformance.Subject
  let friend: ReplicaStoreConformance.Subject
  let honest = ScriptedRemote("honest")
  private let before: [CanonicalRow]

  static let id = ReplicaID(high: 1, low: 1)
  static let friendID = ReplicaID(high: 2, low: 2)

  var store: any ReplicaStore { device.store }

  /// Both have rows of each other.
  init(_ kind: ReplicaStoreKind) async throws {
    let conformance = kind.conformance
    device = try conformance.makeSubject(Self.id)
    friend = try conformance.makeSubject(Self.friendID)
    // The clock of the machine, where the store takes that, is years ahead of the remotes'.
    for subject in [device, friend] {
      _ = try subject.store.correctClock(nowMilliseconds: Forger.now)
    }
    try device.write([.insert(["id": "mine", "name": "one", "count": 1, "high": 2.5])])
    try friend.write([.insert(["id": "theirs", "name": "two", "count": 2, "low": -0.0])])
    for subject in [device, friend, device] { try await Self.sync(subject, with: honest) }
    before = try device.store.canonicalState()
    try #require(before.count == 2)
  }

  /// - Throws: what the engine's round throws.
  func sync(with remote: any Remote) async throws {
    try await Self.sync(device, with: remote)
  }

  static func sync(_ subject: ReplicaStoreConformance.Subject, with remote: any Remote) async throws
  {
    let environment = SyncEnvironment(jitter: { 0 })
    try await SyncEngine(store: subject.store, remote: remote, environment: environment).syncOnce()
  }

  /// The rows that were there are as they were, and what is written from now on still travels, both
  /// ways, until both devices have the same.
  ///
  /// - Parameter isForked: whether the device met other operations of its friend, and tells it so.
  func checkIntact(isForked: Bool = false, location: SourceLocation = #_sourceLocation) async throws
  {
    let kept = try store.canonicalState().filter { row in before.contains { $0.key == row.key } }
    #expect(kept == before, sourceLocation: location)
    try device.write([.insert(["id": "later", "name": "three"])])
    try friend.write([.update(["id": "mine", "count": 5])])
    for (index, subject) in [device, friend, device].enumerated() {
      do {
        try await Self.sync(subject, with: honest)
      } catch let error as RemoteError where isForked && index == 1 {
        #expect(error.code == .sequenceConflict && error.replica == Self.friendID)
      }
    }
    let (mine, theirs) = (try store.canonicalState(), try friend.store.canonicalState())
    #expect(mine == theirs, sourceLocation: location)
    #expect(mine.contains { $0.key == ["later"] && $0.isShown }, sourceLocation: location)
    let count = mine.first { $0.key == ["mine"] }?.cells["count"]?.value
    #expect(count == 5, sourceLocation: location)
  }
}
