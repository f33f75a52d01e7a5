#if Server && Rehearsal
import Foundation
import Tern
import TernServer
import TernTesting

/// A server of a simulation, and what it does without being asked. One thread runs everything here.
final class SimulatedServer: @unchecked Sendable {
  // Sendable, because only the seeded executor's one thread ever touches it.
  let index: Int
  let script: SimulationScript
  let clock: VirtualClock
  let trace: SimulationTrace
  let limits: ServerLimits
  var store: MemorySpaceStore
  var service: SpaceService
  private var backup: MemorySpaceStore?
  private var generator: SeededGenerator
  private(set) var tokens: [Int: String] = [:]
  /// What was offered, by the upload's name, until it is complete.
  var offers: [String: SnapshotOffer] = [:]
  /// Draws what a forged snapshot leaves out.
  var lies: SeededGenerator
  var liar: ReplicaLiar
  /// Of each space, those that were given out.
  var cursors: [Int: [RemoteCursor]] = [:]
  /// Of each space, the last report of a device.
  var reported: [Int: StateReport] = [:]
  /// What each device's messages meet on their way.
  var network: [Int: SeededGenerator] = [:]
  var late: [(at: Int64, body: (SimulatedServer) -> Void)] = []
  /// Whether it was ever offered one.
  var hasBase = false
  /// Of each space, where bases stand that it has not lost since.
  var bases: [Int: Set<UInt64>] = [:]
  /// While messages of before are taken again.
  var isRepeating = false
  private var streams: [Int: (device: Int, PositionStream.Continuation)] = [:]
  private var nextStream = 0
  private var cutOff: Set<Int> = []
  var isFaulty = true
  var violation: String?
  /// Of each device.
  var paces: [Int: RequestPace] = [:]
  /// When what was pushed was made, whether it was accepted or not.
  var offered: [ReplicaID: [UInt64: HybridTime]] = [:]
  /// Everything that was ever accepted, by space, where the server itself forgets.
  private var accepted: [Int: [ReplicaID: [UInt64: SyncOperation]]] = [:]
  /// What a device's log holds: a base stands for operations that were never pushed.
  var logged: (Int) throws -> [SyncOperation] = { _ in [] }
  /// Who was ever given a page.
  var readers: Set<ReplicaID> = []
  /// Devices that may not know what became of their last push.
  var unsettled: Set<Int> = []
  /// Told of a device that is cut off or connected.
  var networkChanged: (Int) -> Void = { _ in }

  typealias PositionStream = AsyncThrowingStream<UInt64, any Error>

  /// The real time at the simulation's beginning: 2026-01-01.
  static let epochMilliseconds: Int64 = 1_767_225_600_000

  init(_ index: Int, script: SimulationScript, clock: VirtualClock, trace: SimulationTrace) throws {
    self.index = index
    self.script = script
    self.clock = clock
    self.trace = trace
    generator = script.generator(UInt64(200 + index))
    lies = script.generator(UInt64(300 + index))
    liar = ReplicaLiar(script.generator(UInt64(400 + index)))
    var limits = ServerLimits()
    limits.pageOperations = 7
    limits.stateInterval = .milliseconds(500)
    if script.conditions.contains(.smallBatches) { limits.batchOperations = 3 }
    if script.conditions.contains(.trims) {
      limits.operationsPerSnapshot = 5
      (limits.retention, limits.trimmedAge) = (.zero, .seconds(2))
      // With a day for the lateness of notes: none.
      if script.conditions.contains(.endsLeases) { limits.lease = .seconds(-172_800) }
    }
    self.limits = limits
    store = MemorySpaceStore(using: &generator)
    service = Self.service(store, clock, limits)
    for device in script.devices {
      network[device.index] = script.generator(UInt64(10_000 + index * 1000 + device.index))
    }
    try makeTokens()
  }

  private static func service(
    _ store: MemorySpaceStore, _ clock: VirtualClock, _ limits: ServerLimits
  ) -> SpaceService {
    SpaceService(
      store: store,
      clock: ServerClock { Date(milliseconds: epochMilliseconds + clock.milliseconds) },
      limits: limits)
  }

  static func name(of space: Int) -> SpaceName {
    guard let name = try? SpaceName("space-\(space)") else {
      preconditionFailure("a simulated space has a name that is none")
    }
    return name
  }

  private func makeTokens() throws {
    for space in script.spaces {
      tokens[space] = try service.createToken(for: Self.name(of: space), using: &generator)
      try service.ban(Self.banned, in: Self.name(of: space))
    }
  }

  /// Whether nothing makes it forget who has pulled up to where.
  var keepsLeases: Bool {
    !script.conditions.contains(.endsLeases)
      && !script.steps.contains { [.wipe, .restore].contains($0.kind) } && !script.copiesFiles
  }

  // MARK: - What happens to it

  func run() async throws {
    for step in script.steps(of: .server(index)) {
      let wait = step.at - clock.milliseconds
      if wait > 0 { try await clock.sleep(for: .milliseconds(wait)) }
      if step.kind == .wipe, try await !isSettled() { continue }
      try take(step)
    }
  }

  /// Waits until every device knows what became of its last push, where files are copied: whoever is
  /// refused for a copy, and never hears of it before the server forgets, makes a fork (0045).
  private func isSettled() async throws -> Bool {
    while script.copiesFiles, !unsettled.isEmpty {
      if clock.milliseconds >= SimulationScript.busyMilliseconds { return false }
      try await clock.sleep(for: .milliseconds(50))
    }
    return true
  }

  private func take(_ step: SimulationScript.Step) throws {
    switch step.kind {
    case .cut(let device): flip(device)
    case .maintain:
      // A server that dies in it was crashed by that, and comes again.
      for space in script.spaces {
        try? perform { _ = try $0.service.maintain(Self.name(of: space)) }
        guard script.conditions.contains(.trims), lies.happens(0.1) else { continue }
        // An operator may do that at any time.
        let restored = try? perform { try $0.service.restore(Self.name(of: space)) }
        if restored?.operations ?? 0 > 0 { trace.saw(.spaceRestored) }
      }
    case .crash: crash()
    case .backUp: backup = MemorySpaceStore(copying: store)
    case .restore:
      guard let old = backup else { return }
      trace.note("server \(index) restored from a backup")
      trace.saw(.serverRestored)
      store = MemorySpaceStore(copying: old)
      bases = [:]
      crash()
    case .wipe:
      trace.note("server \(index) wiped")
      trace.saw(.serverWiped)
      backup = nil
      store = MemorySpaceStore(using: &generator)
      bases = [:]
      crash()
      try makeTokens()
    default: preconditionFailure("no step of a server: \(step.kind)")
    }
  }

  private func flip(_ device: Int) {
    if cutOff.remove(device) == nil {
      cutOff.insert(device)
      endStreams { $0 == device }
    }
    trace.note(
      "device \(device) \(isCut(device) ? "cut off from" : "connected to") server \(index)")
    networkChanged(device)
  }

  /// The process dies: what it did not commit is gone, and so is every connection.
  func crash() {
    trace.note("server \(index) crashed")
    trace.saw(.serverCrashed)
    service = Self.service(store, clock, limits)
    endStreams { _ in true }
  }

  func heal() {
    isFaulty = false
    cutOff = []
  }

  func isCut(_ device: Int) -> Bool { isFaulty && cutOff.contains(device) }

  // MARK: - What it holds

  func record(_ operations: [SyncOperation], in space: Int) {
    for operation in operations {
      let envelope = operation.envelope
      accepted[space, default: [:]][envelope.replica, default: [:]][envelope.sequence] = operation
    }
  }

  /// The newest operation of each replica.
  func held(in space: Int) throws -> VersionVector {
    try service.greet(Self.name(of: space)).heads
  }

  /// Everything that the server was given, by author and number.
  func operations(in space: Int) throws -> [ReplicaID: [UInt64: SyncOperation]] {
    if script.conditions.contains(.trims) { return accepted[space] ?? [:] }
    var operations: [ReplicaID: [UInt64: SyncOperation]] = [:]
    var cursor: RemoteCursor?
    while true {
      let page = try service.pull(from: Self.name(of: space), after: cursor)
      for operation in page.operations {
        let envelope = operation.envelope
        operations[envelope.replica, default: [:]][envelope.sequence] = operation
      }
      cursor = page.cursor
      if !page.hasMore { return operations }
    }
  }

  /// Of all that comes after a cursor.
  func numbers(in space: Int, after cursor: String) throws -> [ReplicaID: Set<UInt64>] {
    var numbers: [ReplicaID: Set<UInt64>] = [:]
    var cursor: RemoteCursor? = RemoteCursor(rawValue: cursor)
    while true {
      let page = try service.pull(from: Self.name(of: space), after: cursor)
      for operation in page.operations {
        let envelope = operation.envelope
        numbers[envelope.replica, default: []].insert(envelope.sequence)
      }
      cursor = page.cursor
      if !page.hasMore { return numbers }
    }
  }

  // MARK: - Event streams

  func positions(for device: Int, in space: Int, after cursor: RemoteCursor?) -> PositionStream {
    PositionStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      if isCut(device) {
        continuation.finish(throwing: RemoteError(.unreachable, "cut off"))
        return
      }
      do {
        _ = try service.heads(of: Self.name(of: space), after: cursor)
      } catch {
        continuation.finish(throwing: error)
        return
      }
      nextStream += 1
      let id = nextStream
      streams[id] = (device, continuation)
      continuation.onTermination = { [weak self] _ in self?.streams[id] = nil }
      continuation.yield(store.summary(of: Self.name(of: space)).position)
    }
  }

  /// Tells every stream of a space that it grew.
  func publish(_ position: UInt64, in space: Int) {
    let listening = Set(script.devices.filter { $0.space == space }.map(\.index))
    for id in streams.keys.sorted() {
      if let (device, stream) = streams[id], listening.contains(device) { stream.yield(position) }
    }
  }

  private func endStreams(where matches: (Int) -> Bool) {
    for id in streams.keys.sorted() {
      guard let (device, stream) = streams[id], matches(device) else { continue }
      stream.finish(throwing: RemoteError(.unreachable, "the connection was cut"))
    }
  }
}
#endif
