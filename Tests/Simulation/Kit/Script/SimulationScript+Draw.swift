#if Server && Rehearsal
import Tern
import TernTesting

extension SimulationScript {
  /// What one seed decides: of all that can go wrong a part alone, since what is always there hides
  /// what happens without it.
  ///
  /// - Source: Groce, Zhang, Eide, Chen, Regehr, "Swarm Testing" (2012).
  package init(seed: UInt64) {
    self.init(seed: seed, devices: [])
    var draw = ScriptDraw(self)
    draw.all()
    self = draw.script
  }
}

private struct ScriptDraw {
  var script: SimulationScript
  private var generator: SeededGenerator

  init(_ script: SimulationScript) {
    self.script = script
    generator = script.generator(1)
  }

  mutating func all() {
    script.keys = Int.random(in: 2...10, using: &generator)
    script.deletes = [.deleteWins, .updateWins, .lastWriter].randomElement(using: &generator)!
    drawDevices()
    let rates = SimulationScript.Rate.allCases.filter {
      !SimulationScript.Rate.ofFolders.contains($0)
    }
    for rate in rates where generator.happens(0.5) {
      script.rates[rate] = Double.random(in: 0...limit(of: rate), using: &generator)
    }
    let odds: [(SimulationScript.Condition, Double)] = [
      (.trims, 0.4), (.endsLeases, 0.5), (.smallBatches, 0.2), (.smallInbox, 0.2),
    ]
    for (condition, chance) in odds where generator.happens(chance) {
      script.conditions.insert(condition)
    }
    drawWrites()
    drawDeviceFaults()
    drawServerFaults()
    drawMeetings()
    script.drawFolder()
    script.steps = script.steps.enumerated().sorted {
      ($0.element.at, $0.offset) < ($1.element.at, $1.offset)
    }.map(\.element)
  }

  private func limit(of rate: SimulationScript.Rate) -> Double {
    switch rate {
    case .deviceCrash: 0.02
    case .serverCrash: 0.05
    default: 0.2
    }
  }

  // MARK: - Devices

  private mutating func drawDevices() {
    // Few write more each, and so meet more often.
    let count = generator.happens(0.75) ? int(2...4) : int(5...8)
    let hasTwoServers = generator.happens(0.25)
    let hasTwoSpaces = count > 2 && generator.happens(0.2)
    let versions = generator.happens(0.4) ? [1, 2] : [int(1...2)]
    let isClockWrong = generator.happens(0.5)
    for index in 0..<count {
      var device = SimulationScript.Device(index: index)
      if hasTwoSpaces { device.space = index % 2 }
      if hasTwoServers {
        // One at least in each space carries the news from one server to the other.
        device.servers =
          index < 2 ? [0, 1] : [[0], [1], [0, 1]].randomElement(using: &generator)!
      }
      device.version = versions.randomElement(using: &generator)!
      if isClockWrong, generator.happens(0.5) { device.clock = clockError(hasTwoServers) }
      script.devices.append(device)
    }
  }

  /// What two servers were offered keeps its time: where a clock is far ahead that waits until the
  /// time comes, which no quiet phase is long enough for.
  private mutating func clockError(_ hasTwoServers: Bool) -> Int64 {
    let limit: Int64 = generator.happens(0.5) ? 2_000 : 86_400_000
    return Int64.random(in: -limit...(hasTwoServers ? 2_000 : limit), using: &generator)
  }

  // MARK: - Steps

  private mutating func drawWrites() {
    // Users who write at the same milliseconds, so that equal times meet.
    var ties = script.generator(4)
    let grid: Int64 = ties.happens(0.25) ? 500 : 1
    for _ in 0..<int(40...80) {
      add(.device(anyDevice()), .write)
      script.steps[script.steps.count - 1].at -= script.steps[script.steps.count - 1].at % grid
    }
  }

  private mutating func drawDeviceFaults() {
    let hasTwoServers = script.servers.count > 1
    if generator.happens(0.4) {
      for _ in 0..<int(1...3) {
        let error = clockError(hasTwoServers)
        let isFar = generator.happens(0.3) && !(hasTwoServers && error > 0)
        add(.device(anyDevice()), .clock(isFar ? error : error % 5_000))
      }
    }
    if generator.happens(0.3) {
      for _ in 0..<int(1...4) { add(.device(anyDevice()), .kill) }
    }
    for device in script.devices where device.version == 1 && script.hasNewVersion {
      if generator.happens(0.7) { add(.device(device.index), .upgrade) }
    }
    if script.spaces.count > 1 {
      for _ in 0..<int(1...3) { add(.device(anyDevice()), .trespass) }
    }
    if script.servers.count == 1, generator.happens(0.25) { drawCopies() }
  }

  /// Devices that take their second server when both have been written to. A server that has trimmed
  /// gives them a snapshot, which they join with what they hold.
  private mutating func drawMeetings() {
    var meetings = script.generator(7)
    guard script.servers.count == 2, meetings.happens(0.5) else { return }
    if meetings.happens(0.75) { script.conditions.insert(.trims) }
    for device in script.devices where device.servers.count == 2 && meetings.happens(0.8) {
      let half = SimulationScript.busyMilliseconds / 2
      add(
        .device(device.index), .meet(Int.random(in: 0...1, using: &meetings)),
        at: Int64.random(in: half..<half * 2, using: &meetings))
    }
  }

  private mutating func drawCopies() {
    for _ in 0..<int(1...2) {
      let device = script.devices.randomElement(using: &generator)!
      let others = script.devices.filter { $0.space == device.space && $0.index != device.index }
      if let other = others.randomElement(using: &generator), generator.happens(0.5) {
        add(.device(device.index), .clone(other.index))
      } else {
        let (first, second) = (milliseconds(), milliseconds())
        add(.device(device.index), .backUp, at: min(first, second))
        add(.device(device.index), .restore, at: max(first, second))
      }
    }
  }

  private mutating func drawServerFaults() {
    for server in script.servers {
      let actor = SimulationScript.Actor.server(server)
      if generator.happens(0.5) {
        for _ in 0..<int(2...12) { add(actor, .cut(anyDevice())) }
      }
      if script.conditions.contains(.trims) {
        for _ in 0..<12 { add(actor, .maintain) }
      }
      if script.rates[.serverCrash] != nil {
        for _ in 0..<int(1...3) { add(actor, .crash) }
      }
      // A base stands for what it has and the device's trimmed log lacks, and neither has both.
      if script.copiesFiles, script.conditions.contains(.trims) { continue }
      if generator.happens(script.copiesFiles ? 0.3 : 0.1) { add(actor, .wipe) }
      // With copies that is a fork where one was accepted and the other comes first (0045).
      if !script.copiesFiles, generator.happens(0.15) {
        let (first, second) = (milliseconds(), milliseconds())
        add(actor, .backUp, at: min(first, second))
        add(actor, .restore, at: max(first, second))
      }
    }
  }

  private mutating func add(
    _ actor: SimulationScript.Actor, _ kind: SimulationScript.Kind, at time: Int64? = nil
  ) {
    let seed = UInt32(truncatingIfNeeded: generator.next())
    script.steps.append(.init(at: time ?? milliseconds(), actor: actor, kind: kind, seed: seed))
  }

  private mutating func milliseconds() -> Int64 {
    .random(in: 1..<SimulationScript.busyMilliseconds, using: &generator)
  }

  private mutating func int(_ range: ClosedRange<Int>) -> Int {
    .random(in: range, using: &generator)
  }

  private mutating func anyDevice() -> Int {
    script.devices.randomElement(using: &generator)!.index
  }
}

extension SimulationScript {
  /// Whether any device ever has the second version of the schema.
  var hasNewVersion: Bool {
    devices.contains { $0.version == 2 } || steps.contains { $0.kind == .upgrade }
  }
}
#endif
