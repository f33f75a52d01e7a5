#if Server && Rehearsal
import Tern
import TernServer
import TernTesting

/// The server of a simulation and the network before it. One thread runs everything here.
final class SimulatedServer: @unchecked Sendable {
  // Sendable, because only the seeded executor's one thread ever touches it.
  let plan: SimulationPlan
  let clock: VirtualClock
  let trace: SimulationTrace
  let space: SpaceName
  private var store: MemorySpaceStore
  private var backup: MemorySpaceStore?
  private var service: SpaceService
  private var generator: SeededGenerator
  private var streams: [Int: AsyncThrowingStream<UInt64, any Error>.Continuation] = [:]
  private var nextStream = 0
  private var partitioned: Set<Int> = []
  var isFaulty = true
  /// Devices that were told that they are behind the horizon.
  var behind: Set<Int> = []
  private(set) var violation: String?
  /// Everything that was ever accepted, where the server itself forgets.
  private var accepted: [ReplicaID: [UInt64: Operation]] = [:]
  /// What a device's log holds: a base stands for operations that were never pushed.
  var logged: (Int) throws -> [Operation] = { _ in [] }

  /// The real time at the simulation's beginning: 2026-01-01.
  static let epochMilliseconds: Int64 = 1_767_225_600_000

  init(plan: SimulationPlan, clock: VirtualClock, trace: SimulationTrace, seed: UInt64) throws {
    self.plan = plan
    self.clock = clock
    self.trace = trace
    generator = SeededGenerator(seed: seed)
    space = try SpaceName("home")
    store = MemorySpaceStore(using: &generator)
    service = Self.service(store, clock, plan)
  }

  private static func service(
    _ store: MemorySpaceStore, _ clock: VirtualClock, _ plan: SimulationPlan
  ) -> SpaceService {
    var limits = ServerLimits()
    limits.pageOperations = 7
    if plan.trims {
      limits.operationsPerSnapshot = 5
      limits.retention = .zero
      limits.hasHorizon = plan.hasHorizon
      // With a day for the lateness of notes: three seconds, or none.
      if plan.endsLeases { limits.lease = .seconds(plan.hasHorizon ? -86_397 : -172_800) }
    }
    return SpaceService(
      store: store, clock: ServerClock { epochMilliseconds + clock.milliseconds }, limits: limits)
  }

  // MARK: - Faults

  func run(until end: Int64) async throws {
    var isWiped = false
    while clock.milliseconds < end {
      try await clock.sleep(for: .milliseconds(Int.random(in: 200...3000, using: &generator)))
      if plan.partitions { flipPartition() }
      // A server that dies in it was crashed by that, and comes again.
      if plan.trims { try? perform { _ = try $0.service.maintain($0.space) } }
      if generator.happens(plan.serverCrashes * 5) { crash() }
      if plan.restoresServer, generator.happens(0.1) {
        if let old = backup {
          trace.note("server restored from a backup")
          store = MemorySpaceStore(copying: old)
          backup = nil
          crash()
        } else {
          backup = MemorySpaceStore(copying: store)
        }
      }
      if plan.wipesServer, !isWiped, generator.happens(0.1) {
        trace.note("server wiped")
        isWiped = true
        backup = nil
        store = MemorySpaceStore(using: &generator)
        crash()
      }
    }
  }

  private func flipPartition() {
    let device = Int.random(in: 0..<plan.deviceCount, using: &generator)
    if partitioned.remove(device) == nil {
      partitioned.insert(device)
      endStreams { $0 == device }
    }
    trace.note("device \(device) \(partitioned.contains(device) ? "cut off" : "connected")")
  }

  /// The process dies: what it did not commit is gone, and so is every connection.
  private func crash() {
    trace.note("server crashed")
    service = Self.service(store, clock, plan)
    endStreams { _ in true }
  }

  func heal() {
    trace.note("faults end")
    isFaulty = false
    partitioned = []
  }

  // MARK: - Requests

  /// Carries one request over the network, which may lose it, lose the answer, or carry it twice.
  func request<T: Sendable>(
    _ device: Int, _ name: String, _ body: @escaping @Sendable (SimulatedServer) throws -> T
  ) async throws -> T {
    try await travel()
    if isCut(device) || happens(plan.lostRequests) {
      trace.note("device \(device) \(name): request lost")
      throw RemoteError(.unreachable, "request lost")
    }
    if happens(plan.lateDuplicates) {
      // Carried again later, after whatever else happens until then.
      let delay = Int.random(in: 10...4000, using: &generator)
      late.append((clock.milliseconds + Int64(delay), { _ = try? body($0) }))
    }
    let result = Result { try perform(body) }
    let answered = (try? result.get()) != nil
    trace.note("device \(device) \(name): \(answered ? "done" : "refused")")
    try await travel()
    if isCut(device) || happens(plan.lostResponses) {
      trace.note("device \(device) \(name): answer lost")
      throw RemoteError(.unreachable, "answer lost")
    }
    return try result.get()
  }

  private var late: [(at: Int64, body: (SimulatedServer) -> Void)] = []

  private func travel() async throws {
    try await clock.sleep(for: .milliseconds(Int.random(in: 1...80, using: &generator)))
    let due = late.filter { $0.at <= clock.milliseconds }
    late.removeAll { $0.at <= clock.milliseconds }
    for request in due { request.body(self) }
  }

  private func perform<T>(_ body: (SimulatedServer) throws -> T) throws -> T {
    do {
      return try body(self)
    } catch let error as RemoteError {
      throw error
    } catch {
      crash()
      throw RemoteError(.unreachable, "the server died")
    }
  }

  private func isCut(_ device: Int) -> Bool { isFaulty && partitioned.contains(device) }
  private func happens(_ probability: Double) -> Bool {
    isFaulty && generator.happens(probability)
  }

  func greet() throws -> RemoteGreeting { try service.greet(space) }

  func push(_ operations: [Operation], basis: PushBasis? = nil) throws -> PushReceipt {
    // Before, since a crash can follow the commit; what is refused comes again.
    let known = store.summary(of: space).heads
    record(operations.filter { $0.envelope.sequence > known[$0.envelope.replica] })
    let receipt = try service.push(operations, to: space, basis: basis)
    let heads = store.summary(of: space).heads
    for operation in operations
    where heads[operation.envelope.replica] < operation.envelope.sequence {
      violation = violation ?? "INV-03: a push was acknowledged that the server does not hold"
    }
    for id in streams.keys.sorted() { streams[id]?.yield(receipt.position) }
    return receipt
  }

  func pull(
    after cursor: Cursor?, excluding excluded: ReplicaID, isAcknowledged: Bool = false
  ) throws -> PulledPage {
    try service.pull(
      from: space, after: cursor, excluding: excluded, isAcknowledged: isAcknowledged)
  }

  private func record(_ operations: [Operation]) {
    for operation in operations {
      accepted[operation.envelope.replica, default: [:]][operation.envelope.sequence] = operation
    }
  }

  // MARK: - Snapshots

  func snapshotPart(_ index: Int, of id: String) throws -> [UInt8] {
    try service.snapshotPart(index, of: id, in: space)
  }

  func beginSnapshot(_ offer: SnapshotOffer, by device: Int) throws -> SnapshotUpload {
    let upload = try service.beginSnapshot(offer, in: space)
    if offer.isBase { record(try logged(device)) }
    return upload
  }

  func putSnapshotPart(_ bytes: [UInt8], index: Int, of id: String) throws {
    try service.putSnapshotPart(bytes, index: index, of: id, in: space)
  }

  func completeSnapshot(_ id: String) throws {
    _ = try service.completeSnapshot(id, in: space)
    trace.note("snapshot complete")
    let position = store.summary(of: space).position
    for id in streams.keys.sorted() { streams[id]?.yield(position) }
  }

  // MARK: - Event streams

  func positions(_ device: Int) -> AsyncThrowingStream<UInt64, any Error> {
    AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      if isCut(device) {
        continuation.finish(throwing: RemoteError(.unreachable, "cut off"))
        return
      }
      nextStream += 1
      let id = nextStream * 16 + device
      streams[id] = continuation
      continuation.onTermination = { [weak self] _ in self?.streams[id] = nil }
      continuation.yield(store.summary(of: space).position)
    }
  }

  private func endStreams(where matches: (Int) -> Bool) {
    for id in streams.keys.sorted() where matches(id % 16) {
      streams[id]?.finish(throwing: RemoteError(.unreachable, "the connection was cut"))
    }
  }

  /// The newest operation of each replica.
  func held() throws -> VersionVector {
    if plan.trims { return try greet().heads }
    return try operations().reduce(into: VersionVector()) { held, operation in
      let envelope = operation.envelope
      held[envelope.replica] = max(held[envelope.replica], envelope.sequence)
    }
  }

  /// Everything that the server holds or has a snapshot for, each author's in its order.
  func operations() throws -> [Operation] {
    if plan.trims {
      let held = try held()
      return accepted.keys.sorted().flatMap { author in
        accepted[author]!.filter { $0.key <= held[author] }.sorted { $0.key < $1.key }.map(\.value)
      }
    }
    var operations: [Operation] = []
    var cursor: Cursor?
    while true {
      let page = try service.pull(from: space, after: cursor)
      operations += page.operations
      cursor = page.cursor
      if !page.hasMore { return operations }
    }
  }
}

/// One device's way to the server.
struct SimulatedRemote: Remote {
  let server: SimulatedServer
  let device: Int
  var id: String { "simulated" }
  var keepsSnapshots: Bool { true }

  func greet() async throws -> RemoteGreeting {
    try await server.request(device, "greet") { try $0.greet() }
  }

  func push(_ operations: [Operation]) async throws -> PushReceipt {
    try await server.request(device, "push \(operations.count)") { try $0.push(operations) }
  }

  func pull(after cursor: Cursor?, excluding excluded: ReplicaID) async throws -> PulledPage {
    try await server.request(device, "pull") {
      try $0.pull(after: cursor, excluding: excluded)
    }
  }

  func positions() -> AsyncThrowingStream<UInt64, any Error> { server.positions(device) }

  func snapshotPart(_ index: Int, of id: String) async throws -> [UInt8] {
    try await server.request(device, "fetch part \(index)") {
      try $0.snapshotPart(index, of: id)
    }
  }

  func beginSnapshot(_ offer: SnapshotOffer) async throws -> SnapshotUpload {
    let device = device
    return try await server.request(device, offer.isBase ? "offer a base" : "offer a snapshot") {
      try $0.beginSnapshot(offer, by: device)
    }
  }

  func putSnapshotPart(_ bytes: [UInt8], index: Int, of id: String) async throws {
    try await server.request(device, "put part \(index)") {
      try $0.putSnapshotPart(bytes, index: index, of: id)
    }
  }

  func completeSnapshot(_ id: String) async throws {
    try await server.request(device, "complete a snapshot") { try $0.completeSnapshot(id) }
  }
}
#endif
