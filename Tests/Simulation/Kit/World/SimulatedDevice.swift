#if Server && Rehearsal
import Foundation
import GRDB
import Tern
import TernDatabase
import TernTesting

/// A device: a real database, a user who writes plain SQL, and an app with an engine for each of
/// its servers that is killed now and then. One thread runs everything here.
final class SimulatedDevice: @unchecked Sendable {
  // Sendable, because only the seeded executor's one thread ever touches it.
  let place: SimulationScript.Device
  let script: SimulationScript
  let trace: SimulationTrace
  let clock: VirtualClock
  let wall: SimulatedWall
  /// Has a route to one server or another at all times.
  let network = ScriptedPathSource()
  private let servers: [SimulatedServer]
  /// Those that it does not know yet.
  private var lateServers: Set<Int>
  let folder: SimulatedFolder?
  private let executor: SeededExecutor
  /// What its engines and its next starts draw from.
  private var generator: SeededGenerator
  var file: SimulatedFile
  private(set) var replica: Replica
  /// Of the app.
  private var release: Int
  private var engines: [SyncEngine] = []
  private var ending: AsyncStream<Void>.Continuation?
  private var backup: SimulatedFile?
  private var pending: FileChange?
  /// Whether its file was ever put back, or is, or was made, another device's.
  private(set) var isCopied = false
  /// Every id that it had.
  private(set) var ids: Set<ReplicaID>
  var tokens = 0
  private(set) var violation: String?
  private var merges = 0

  private enum FileChange {
    case restored
    case cloned(SimulatedDevice)
    case emptied
  }

  var index: Int { place.index }
  var database: DatabaseQueue { file.database }

  init(
    _ place: SimulationScript.Device, _ script: SimulationScript, servers: [SimulatedServer],
    folder: SimulatedFolder?, clock: VirtualClock, executor: SeededExecutor, trace: SimulationTrace
  ) throws {
    self.place = place
    self.script = script
    self.servers = servers.filter { place.servers.contains($0.index) }
    lateServers = script.lateServers(of: place.index).intersection(place.servers)
    self.folder = folder
    self.clock = clock
    self.executor = executor
    self.trace = trace
    generator = script.generator(UInt64(100 + place.index))
    wall = SimulatedWall(clock: clock, offset: place.clock)
    release = place.version
    file = try SimulatedFile(wall)
    replica = try file.open(release, script, &generator)
    ids = [try replica.store.replicaID()]
  }

  var remotes: [SimulatedRemote] {
    servers.filter { !lateServers.contains($0.index) }
      .map { SimulatedRemote(server: $0, device: index, space: place.space) }
  }

  private var remoteCount: Int { servers.count - lateServers.count + (folder == nil ? 0 : 1) }

  // MARK: - The app

  /// Runs the app until the simulation is over; whenever it dies, it starts anew.
  func run() async throws {
    while !Task.isCancelled {
      await runProcess()
      if Task.isCancelled { return }
      trace.note("device \(index) killed")
      trace.saw(.deviceKilled)
      checkPair()
      checkInbox()
      try await reopen()
    }
  }

  /// Until one of the engines dies, or all are killed.
  private func runProcess() async {
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    ending = end
    engines = remotes.map(engine)
    if let folder { engines.append(engine(SimulatedFolderRemote(folder, replica, executor))) }
    await withDiscardingTaskGroup { group in
      for engine in engines {
        group.addTask {
          await engine.run()
          end.finish()
        }
      }
      for await _ in ends {}
      group.cancelAll()
    }
    checkRepairs()
    noteWaiting()
    engines = []
  }

  private func engine(_ remote: any Remote) -> SyncEngine {
    let replica = replica
    let jitter = SharedGenerator(SeededGenerator(seed: generator.next()))
    let isAlone = remoteCount == 1
    var environment = SyncEnvironment(
      clock: clock, jitter: { jitter.fraction() }, network: network,
      localWrites: { replica.localWrites.stream() },
      didMerge: { [weak self] in
        self?.noteMerge()
        if !isAlone { replica.localWrites.tell() }
      }, pollInterval: .seconds(5),
      executor: executor)
    environment.wallClock = { [clock] in clock.now.offset }
    // No time passes in a merge here.
    if generator.happens(0.3) { environment.mergeLimit = .zero }
    return SyncEngine(store: replica.store, remote: remote, environment: environment)
  }

  private func noteMerge() {
    merges += 1
    noteIDChanges()
    checkDerived(merge: merges)
  }

  /// At once, since an engine tells of its last one alone.
  private func noteIDChanges() {
    for change in engines.compactMap(\.status.current.idChange)
    where ids.insert(change.current).inserted {
      trace.note("device \(index) has a new id, after \(change.last)")
      trace.saw(.newID)
      file.formerIDs[change.former] = change.last
      for server in servers { server.unsettled.remove(index) }
    }
  }

  /// Nothing here damages a state, so none is ever mended but after a report that lies. What such a
  /// repair changes, the model finds.
  func checkRepairs() {
    let isDeceived = servers.contains { !$0.liar.falseReports.isEmpty }
    if isDeceived, engines.contains(where: { $0.status.current.repairs > 0 }) {
      trace.saw(.repairedInVain)
    }
    if isDeceived { return }
    for status in engines.map(\.status.current)
    where status.repairs > 0 || !status.differingTables.isEmpty {
      violation =
        violation
        ?? "INV-01: device \(index) found its state to differ: \(status.differingTables)"
    }
  }

  func noteTrimming() throws {
    let isTrimmed = try database.unsafeRead { db in
      try db.integer("SELECT EXISTS (SELECT 1 FROM grdb_tern_main_author WHERE trimmed > 0)")
    }
    if isTrimmed == 1 { trace.saw(.logTrimmed) }
  }

  private func noteWaiting() {
    for status in engines.map(\.status.current) {
      if status.quarantined > 0 { trace.saw(.quarantined) }
      if status.pending[.schema] > 0 { trace.saw(.deferred) }
    }
  }

  func kill() { ending?.finish() }

  /// Starts anew after a while, however often it dies on the way.
  private func reopen() async throws {
    while true {
      try await clock.sleep(for: .milliseconds(Int.random(in: 1...2000, using: &generator)))
      try changeFile()
      do {
        replica = try file.open(release, script, &generator)
        ids.insert(try replica.store.replicaID())
        return
      } catch is CancellationError {
        trace.note("device \(index) killed while opening")
      }
    }
  }

  // MARK: - Its file

  /// Where a server is wiped, a file that never met one is not copied: it makes a fork (0045).
  private func canBeCopied() throws -> Bool {
    try !script.wipesServer || remotes.contains { try replica.store.place(at: $0.id) != nil }
  }

  func backUp() throws {
    guard try canBeCopied() else { return }
    backup = try file.copied(to: wall)
  }

  func restore() {
    guard backup != nil else { return }
    pending = .restored
    kill()
  }

  func clone(_ other: SimulatedDevice) throws {
    guard try other.canBeCopied() else { return }
    pending = .cloned(other)
    kill()
  }

  func upgrade() {
    if release < 2 { trace.saw(.upgraded) }
    release = 2
    kill()
  }

  func meet(_ server: Int) {
    guard lateServers.remove(server) != nil else { return }
    trace.saw(.serverMet)
    kill()
  }

  /// The user deletes what a server said is a copy, and begins anew.
  func beginAnew() {
    pending = .emptied
    kill()
  }

  private func changeFile() throws {
    defer { pending = nil }
    if pending != nil { for server in servers { server.unsettled.insert(index) } }
    switch pending {
    case .restored?:
      file = try backup!.copied(to: wall)
      trace.saw(.fileRestored)
      isCopied = true
    case .cloned(let other)?:
      file = try other.file.copied(to: wall)
      release = max(release, file.version)
      trace.saw(.fileCloned)
      isCopied = true
      other.isCopied = true
    case .emptied?:
      trace.saw(.fileEmptied)
      file = try SimulatedFile(wall)
      isCopied = false
    case nil: return
    }
    trace.note("device \(index) \(pending.map { "\($0)".prefix(while: { $0 != "(" }) } ?? "")")
  }

  // MARK: - How it stands

  var isUpToDate: Bool {
    engines.count == remoteCount
      && engines.allSatisfy {
        let now = $0.status.current
        return now.phase == .upToDate && now.unpushed == 0
      }
  }

  /// Whether a server told it that its file is a copy.
  var isRefused: Bool {
    guard isCopied, pending == nil, let own = try? replica.store.replicaID() else { return false }
    return engines.contains {
      guard let error = $0.status.current.lastError else { return false }
      return [.sequenceConflict, .foreignOwn].contains(error.code) && error.replica == own
    }
  }

  /// A copy may stay refused where its log was trimmed and somebody had seen what another copy wrote under the
  /// numbers that it used later.
  func checkRefusal() {
    do {
      let isMistaken = try database.unsafeRead { db in
        try db.integer(
          """
          SELECT EXISTS (SELECT 1 FROM grdb_tern_main_author WHERE trimmed > 0)
          AND EXISTS (SELECT 1 FROM grdb_tern_main_seen WHERE other = 0 AND sequence >
            (SELECT ifnull(max(accepted), 0) FROM grdb_tern_main_offer))
          """)
      }
      trace.note("device \(index) is refused")
      if isMistaken == 0 { note("INV-02: device \(index) is refused for good: \(summary)") }
    } catch {
      note("failed: \(error)")
    }
  }

  /// Whether it waits, by name, for the app's next release: to load the snapshot of a newer one.
  var waitsForUpgrade: Bool {
    release == 1 && pending == nil
      && engines.contains {
        $0.status.current.lastError?.message.contains("update the app") ?? false
      }
  }

  func logged() throws -> [SyncOperation] {
    try database.unsafeRead {
      try Data.fetchAll($0, sql: "SELECT bytes FROM grdb_tern_main_log")
    }.map { try SyncOperation(bytes: Array($0)) }
  }

  /// For a violation's text.
  var summary: String {
    let mine = (try? replica.store.versionVector().sorted.map { "\($0.sequence)" }) ?? []
    let unsealed = (try? replica.store.counts().unsealedChanges) ?? -1
    let states = engines.map { engine in
      let now = engine.status.current
      return "\(now.phase.rawValue), waiting \(now.unpushed), "
        + (now.lastError.map { "\($0)" } ?? "no error")
    }
    return "device \(index) \(states.joined(separator: " and ")), unsealed \(unsealed), merged "
      + mine.joined(separator: "/")
  }

  /// Both rows of a pair are always written in one transaction, and so are both or neither here.
  func checkPair() {
    do {
      let isTorn = try database.unsafeRead { db in
        try db.integer(
          """
          SELECT count(*) NOT IN (0, 2) OR max(x) IS NOT min(x)
          FROM \(SimulatedFile.pair(in: file.version))
          """)
      }
      if isTorn != 0 { note("INV-06: device \(index) shows half of a transaction") }
    } catch {
      note("failed: \(error)")
    }
  }

  func note(_ violation: String) { self.violation = self.violation ?? violation }
}
#endif
