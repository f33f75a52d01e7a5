#if Server && Rehearsal
import Tern
import TernTesting

extension SimulationScript {
  /// In one world of seven devices share a folder, in place of servers or beside them. Drawn after all
  /// else, from a generator of its own.
  mutating func drawFolder() {
    var generator = generator(5)
    guard generator.happens(0.13) else { return }
    let isAlone = generator.happens(0.5)
    for index in devices.indices {
      // One at least in each space carries the news from the folder to the servers.
      let isBridge = index < spaces.count || generator.happens(0.3)
      devices[index].hasFolder = isAlone || isBridge || generator.happens(0.5)
      if isAlone || devices[index].hasFolder && !isBridge { devices[index].servers = [] }
    }
    leaveOutWhatNoFolderMends()
    drawFolderFaults(&generator)
  }

  /// A folder corrects no clock, has no snapshot in place of what was trimmed, and keeps forks.
  private mutating func leaveOutWhatNoFolderMends() {
    for index in devices.indices { devices[index].clock %= 2_000 }
    if !servers.isEmpty { conditions.subtract([.trims, .endsLeases]) }
    let servers = servers
    steps = steps.compactMap { step in
      switch (step.actor, step.kind) {
      case (.server(let index), _): servers.contains(index) ? step : nil
      case (_, .backUp), (_, .restore), (_, .clone): nil
      case (_, .clock(let milliseconds)):
        Step(at: step.at, actor: step.actor, kind: .clock(milliseconds % 5_000), seed: step.seed)
      default: step
      }
    }
  }

  private mutating func drawFolderFaults(_ generator: inout SeededGenerator) {
    let limits: [(Rate, Double)] = [
      (.folderDeath, 0.05), (.readFailed, 0.1), (.fileLate, 0.95), (.filePartial, 0.4),
      (.fileTwice, 0.2),
    ]
    for (rate, limit) in limits where generator.happens(0.5) {
      rates[rate] = Double.random(in: 0...limit, using: &generator)
    }
    if generator.happens(0.5) { conditions.insert(.smallFiles) }
    let sharing = devices.filter(\.hasFolder)
    for kind in [Kind.unplug, .hide, .losePower] where generator.happens(0.5) {
      for _ in 0..<Int.random(in: 1...6, using: &generator) {
        steps.append(
          Step(
            at: .random(in: 1..<Self.busyMilliseconds, using: &generator),
            actor: .device(sharing.randomElement(using: &generator)!.index), kind: kind,
            seed: UInt32(truncatingIfNeeded: generator.next())))
      }
    }
  }
}
#endif
