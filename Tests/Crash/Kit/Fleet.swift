#if os(Linux) || os(macOS)
import Foundation
@_spi(Rehearsal) import Tern
import TernTesting
import TestProcesses

/// Two devices and a server as processes on loopback, of which some are killed and started again;
/// one thread starts, hears and kills them all.
package final class Fleet {
  package enum Member: String, Hashable, CaseIterable, Sendable {
    case a, b, server

    static let devices = [Member.a, .b]
    var name: String { self == .server ? "server" : "device \(rawValue)" }
  }

  enum Limit {
    /// For all kills and for agreeing after them: a second or two, if nobody else wants the machine.
    static let patience = Duration.seconds(100)
    /// What each device writes after the last kill.
    static let lastWrites = 5
  }

  let seed: UInt64
  let folder: String
  private let plan: KillPlan
  private let conditions: FleetConditions
  private let port: FreePort
  private var token = ""
  private var members: [Member: FleetProcess] = [:]
  private var tally = CrashTally()
  private var isReady = false
  private var isStopped = false
  private var random: ArraySlice<KillPlan.Kill> = []
  private let clock = ContinuousClock()
  private var nextKill: ContinuousClock.Instant?
  private var begin: ContinuousClock.Instant

  package static func run(_ plan: KillPlan, seed: UInt64, under conditions: FleetConditions)
    -> CrashTally
  {
    do {
      return try withTemporaryFolder { folder in
        try Fleet(plan, seed: seed, conditions, folder: folder).runCounting()
      }
    } catch {
      var tally = CrashTally()
      tally.violations = ["\(plan), seed \(seed): no fleet could be made: \(error)"]
      return tally
    }
  }

  private init(_ plan: KillPlan, seed: UInt64, _ conditions: FleetConditions, folder: String) throws
  {
    self.plan = plan
    self.seed = seed
    self.conditions = conditions
    self.folder = folder
    port = try FreePort()
    if case .atRandom(let kills, _) = plan { random = kills[...] }
    begin = clock.now
    for member in Member.allCases { members[member] = FleetProcess() }
  }

  private func runCounting() -> CrashTally {
    tally.fleets = 1
    do {
      defer {
        abandon()
        count()
        tally.read(log: log)
      }
      try run()
    } catch {
      tally.violations.append("\(plan), seed \(seed): \(error)")
    }
    return tally
  }

  private func count() {
    let devices = Member.devices.map { members[$0]! }
    tally.keptUnacknowledged = devices.reduce(0) { $0 + $1.keptUnacknowledged }
    tally.acknowledged = devices.reduce(0) { $0 + $1.acknowledged } - tally.keptUnacknowledged
  }

  private func run() throws {
    token = try createToken()
    try start(.server)
    while true {
      let isAgreed = try turn()
      if isAgreed { break }
      guard clock.now - begin < Limit.patience else { throw FleetFailure("gave up: \(summary)") }
    }
    for member in Member.allCases { try end(member) }
    try check()
  }

  /// One wait for whoever speaks or dies first. Returns whether all is over and agreed.
  private func turn() throws -> Bool {
    let living = Member.allCases.filter { members[$0]?.process != nil }
    var descriptors = living.map { member in
      pollfd(fd: members[member]!.process!.output, events: Int16(POLLIN), revents: 0)
    }
    let count = poll(&descriptors, nfds_t(descriptors.count), waitMilliseconds)
    guard count >= 0 || errno == EINTR else { throw POSIXError(.EIO) }
    for (member, descriptor) in zip(living, descriptors) where descriptor.revents != 0 {
      try hear(member)
    }
    try killIfDue()
    return try stopIfDue()
  }

  private var waitMilliseconds: CInt {
    guard let nextKill else { return 100 }
    let (seconds, attoseconds) = (nextKill - clock.now).components
    return CInt(clamping: max(0, seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1))
  }

  // MARK: - Lives

  private func createToken() throws -> String {
    let (output, status) = try tern(
      ["token", "create", "--data", folder + "/server", "--space", "home"])
    guard status == 0 else { throw FleetFailure("tern token create failed") }
    return output.trimmingCharacters(in: .newlines)
  }

  /// Runs the command to its end.
  private func tern(_ words: [String]) throws -> (output: String, status: CInt) {
    let tool = try ChildProcess(BuiltExecutable.path("tern"), arguments: words)
    var output: [UInt8] = []
    while let bytes = tool.read() { output += bytes }
    tool.endInput()
    return (String(decoding: output, as: UTF8.self), tool.wait())
  }

  func database(of device: Member) -> String { "\(folder)/\(device.rawValue)" }
  private var stopFile: String { folder + "/stop" }
  private var log: String { folder + "/points" }

  private func start(_ member: Member) throws {
    var environment = [CrashPoint.logVariable: log]
    environment[CrashPoint.armVariable] = plan.armed(member, life: members[member]!.deaths)
    environment[CrashPoint.bugVariable] = conditions.bug?.rawValue
    let process: ChildProcess
    if member == .server {
      process = try ChildProcess(
        BuiltExecutable.path("tern"),
        arguments: ["serve", "--data", folder + "/server", "--port", "\(port.number)"],
        environment: environment)
    } else {
      var arguments = DeviceArguments(
        name: member.rawValue, database: database(of: member),
        url: "http://127.0.0.1:\(port.number)",
        token: token, seed: seed, stopFile: stopFile)
      arguments.durability = conditions.durability
      arguments.losesPower = conditions.losesPower
      arguments.migrations = migrations(of: member)
      process = try ChildProcess(
        BuiltExecutable.path("CrashDevice"), arguments: arguments.words, environment: environment)
    }
    members[member]!.begin(process)
  }

  private func hear(_ member: Member) throws {
    guard let lines = members[member]!.lines() else { return try bury(member) }
    for line in lines {
      if member == .server {
        if !isReady { try startDevices() }
      } else if let line = DeviceLine(line) {
        try take(line, of: member)
      } else {
        throw FleetFailure("\(member.name) said “\(line)”")
      }
    }
  }

  private func startDevices() throws {
    isReady = true
    if plan.isOpening {
      for device in Member.devices {
        // One is a replica of an earlier app, and one no replica yet.
        members[device]!.acknowledged = try file(of: device).fill(isReplica: device == .a)
      }
    }
    for device in Member.devices { try start(device) }
    scheduleKill()
  }

  private func take(_ line: DeviceLine, of device: Member) throws {
    switch line {
    case .started(let done):
      members[device]!.hasOpened = true
      let acknowledged = members[device]!.acknowledged
      if done < acknowledged || done > acknowledged + 1 {
        throw FleetFailure("\(device.name) acknowledged \(acknowledged) and came back at \(done)")
      }
      members[device]!.keptUnacknowledged += done - acknowledged
      members[device]!.acknowledged = done
    case .acknowledged(let number):
      members[device]!.acknowledged = number
      members[device]!.acknowledgedInThisLife += 1
    case .reached(let vector):
      members[device]!.vector = vector
    case .stored:
      // Where the server's store can lose nothing, the end shows all that was acknowledged.
      break
    }
  }

  /// A death that was wanted is followed by a new life.
  private func bury(_ member: Member) throws {
    let status = members[member]!.end()
    guard status == SIGKILL else { throw FleetFailure("\(member.name) ended with \(status)") }
    if plan.isOpening, member != .server { try writeAsOthers(in: member) }
    try start(member)
    scheduleKill()
  }

  // MARK: - Openings

  /// Each life finds a release with one migration more, and the first with two.
  private func migrations(of device: Member) -> Int {
    plan.isOpening ? 3 + members[device]!.deaths : 1
  }

  private func file(of device: Member) -> LibraryFile {
    LibraryFile(path: database(of: device), device: device.rawValue, seed: seed)
  }

  /// After a death, by this process, which doesn't have Tern in that file.
  private func writeAsOthers(in device: Member) throws {
    if !members[device]!.hasOpened { tally.killedOpening += 1 }
    let file = file(of: device)
    let done = try file.done()
    try take(.started(done: done), of: device)
    guard let last = try file.writeAsOthers(forgettingRows: conditions.forgetsRows) else {
      tally.deathsAfterMigration += 1
      return
    }
    members[device]!.acknowledged = last
    tally.writtenByOthers += last - done
  }

  // MARK: - Deaths

  private func scheduleKill() {
    nextKill = random.first.map { clock.now + $0.delay }
  }

  private func killIfDue() throws {
    guard let due = nextKill, due <= clock.now, let kill = random.popFirst() else { return }
    members[kill.victim]!.process!.kill()
    tally.killedAtRandom[kill.victim, default: 0] += 1
    // The next is timed from this one's new life.
    nextKill = nil
  }

  private var deaths: Int { members.values.reduce(0) { $0 + $1.deaths } }

  private func stopIfDue() throws -> Bool {
    guard deaths == plan.count, isReady else { return false }
    if !isStopped {
      let isEnough = Member.devices.allSatisfy {
        members[$0]!.acknowledgedInThisLife >= Limit.lastWrites
      }
      guard isEnough else { return false }
      try Data().write(to: URL(fileURLWithPath: stopFile))
      isStopped = true
    }
    let vectors = Member.devices.map { members[$0]!.vector }
    return vectors[0] != nil && vectors[0] == vectors[1]
  }

  private func end(_ member: Member) throws {
    if member == .server { members[member]!.process!.kill(SIGTERM) }
    members[member]!.process!.endInput()
    while members[member]!.lines() != nil {}
    let status = members[member]!.process!.wait()
    members[member]!.process = nil
    if status != 0 { throw FleetFailure("\(member.name) ended with \(status)") }
  }

  /// Leaves no process behind when something failed.
  private func abandon() {
    for member in Member.allCases {
      members[member]!.process?.kill()
      _ = members[member]!.end()
    }
  }

  // MARK: - The end

  private func check() throws {
    let done = Dictionary(
      uniqueKeysWithValues: Member.devices.map { ($0.rawValue, members[$0]!.acknowledged) })
    let check = FleetCheck(
      folder: folder, devices: Member.devices.map { $0.rawValue },
      migrations: Member.devices.map(migrations).max()!)
    // Before anything else opens the file.
    let doctor = try tern(["doctor", folder + "/server"])
    let broken = doctor.status == 0 ? [] : ["the server's file: \(doctor.output)"]
    let found = try check.violations(Model(done: done, seed: seed))
    tally.violations = (broken + found.violations).map { "\(plan), seed \(seed): \($0)" }
    tally.operations = found.operations
  }

  private var summary: String {
    Member.allCases.map { member in
      let state = members[member]!
      return "\(member.name): \(state.deaths) deaths, \(state.acknowledged) writes, "
        + "has \(state.vector ?? "not stopped")"
    }.joined(separator: "; ")
  }
}

struct FleetFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
#endif
