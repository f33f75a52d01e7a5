#if Server && Rehearsal
import Tern

/// A script as lines, which `script/sim FILE` reads: a step each, with its time in milliseconds
/// before it and the seed of what it leaves open behind it.
extension SimulationScript {
  package struct FormatError: Error, CustomStringConvertible {
    package let line: String
    package var description: String { "a script has no line “\(line)”" }
  }

  package var text: String {
    var lines = ["simulation \(seed)", "keys \(keys)", "deletes \(deletes)"]
    for device in devices {
      let servers = (device.servers.map(String.init) + (device.hasFolder ? ["folder"] : []))
        .joined(separator: ",")
      lines.append(
        "device \(device.index) space \(device.space) servers \(servers) version "
          + "\(device.version) clock \(device.clock)")
    }
    for rate in Rate.allCases {
      if let value = rates[rate] { lines.append("rate \(rate.rawValue) \(value)") }
    }
    for condition in Condition.allCases where conditions.contains(condition) {
      lines.append("condition \(condition.rawValue)")
    }
    lines += steps.map { "\($0.at) \($0.actor.text) \($0.kind.text) \($0.seed)" }
    return lines.joined(separator: "\n")
  }

  /// - Throws: ``FormatError``.
  package init(text: String) throws {
    self.init(seed: 0)
    (keys, devices, rates, conditions, steps) = (4, [], [:], [], [])
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      let words = line.split(separator: " ").map(String.init)
      guard read(words) else { throw FormatError(line: String(line)) }
    }
    guard !devices.isEmpty, isConnected else {
      throw FormatError(line: "(with devices that can hear of each other)")
    }
  }

  private mutating func read(_ words: [String]) -> Bool {
    let numbers = words.map { Int64($0) }
    switch words.first {
    case "simulation":
      guard let seed = words.last.flatMap(UInt64.init) else { return false }
      self.seed = seed
    case "keys":
      guard let keys = numbers.last ?? nil, keys > 0 else { return false }
      self.keys = Int(keys)
    case "deletes":
      let rules = [DeleteRule.deleteWins, .updateWins, .lastWriter]
      guard let rule = rules.first(where: { "\($0)" == words.last }) else { return false }
      deletes = rule
    case "device":
      guard words.count == 10, let index = numbers[1], let space = numbers[3],
        let version = numbers[7], let clock = numbers[9], 1...2 ~= version
      else { return false }
      let remotes = words[5].split(separator: ",")
      devices.append(
        Device(
          index: Int(index), space: Int(space), servers: remotes.compactMap { Int($0) },
          hasFolder: remotes.contains("folder"), version: Int(version), clock: clock))
    case "rate":
      guard words.count == 3, let rate = Rate(rawValue: words[1]), let value = Double(words[2])
      else { return false }
      rates[rate] = value
    case "condition":
      guard let condition = words.last.flatMap(Condition.init) else { return false }
      conditions.insert(condition)
    default:
      guard words.count >= 5, let at = numbers[0], let index = numbers[2],
        let seed = words.last.flatMap(UInt32.init),
        let kind = Kind(words: Array(words[3..<words.count - 1]))
      else { return false }
      let actor = words[1] == "server" ? Actor.server(Int(index)) : .device(Int(index))
      steps.append(Step(at: at, actor: actor, kind: kind, seed: seed))
    }
    return true
  }
}

extension SimulationScript.Actor {
  fileprivate var text: String {
    switch self {
    case .device(let index): "device \(index)"
    case .server(let index): "server \(index)"
    }
  }
}

extension SimulationScript.Kind {
  /// Those that take no number.
  private static let plain: [String: Self] = [
    "write": .write, "kill": .kill, "backUp": .backUp, "restore": .restore, "upgrade": .upgrade,
    "trespass": .trespass, "unplug": .unplug, "hide": .hide, "losePower": .losePower,
    "maintain": .maintain, "crash": .crash, "wipe": .wipe,
  ]

  fileprivate var text: String {
    switch self {
    case .clock(let milliseconds): "clock \(milliseconds)"
    case .clone(let device): "clone \(device)"
    case .cut(let device): "cut \(device)"
    case .meet(let server): "meet \(server)"
    default: "\(self)"
    }
  }

  fileprivate init?(words: [String]) {
    let number = words.count == 2 ? Int64(words[1]) : nil
    switch (words[0], number) {
    case ("clock", let number?): self = .clock(number)
    case ("clone", let number?): self = .clone(Int(number))
    case ("cut", let number?): self = .cut(Int(number))
    case ("meet", let number?): self = .meet(Int(number))
    default:
      guard words.count == 1, let kind = Self.plain[words[0]] else { return nil }
      self = kind
    }
  }
}
#endif
