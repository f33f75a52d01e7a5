import ExampleRehearsals
@_spi(Rehearsal) import Tern

/// What happened in many rounds.
package struct ScanTally: Sendable {
  package internal(set) var reached: [CrashPoint: Int] = [:]
  package internal(set) var killed: [CrashPoint: Int] = [:]
  package internal(set) var addsKilledAtRandom = 0
  package internal(set) var runsKilledAtRandom = 0
  package internal(set) var rounds = 0
  package internal(set) var photos = 0
  /// Jobs at the service of which nobody learned the name.
  package internal(set) var unknownJobs = 0
  /// Answers that were counted as lost.
  package internal(set) var lostAnswers = 0
  /// Rounds whose program ended before it came to the point.
  package internal(set) var unreached: [String] = []
  package internal(set) var violations: [String] = []

  /// All that a round's programs come to.
  package static let points = CrashPoint.ofJobs + CrashPoint.ofScan

  package init() {}

  package var killCount: Int {
    killed.values.reduce(0, +) + addsKilledAtRandom + runsKilledAtRandom
  }

  mutating func add(_ result: ScanRound.Result, _ plan: ScanCampaign.Plan, _ check: ScanCheck) {
    for (point, isKill) in result.points {
      reached[point, default: 0] += 1
      if isKill { killed[point, default: 0] += 1 }
    }
    if case .atRandom = plan.kill {
      addsKilledAtRandom += result.addsKilled
      runsKilledAtRandom += result.runsKilled
    }
    photos += result.photos
    unknownJobs += check.unknownJobs(result.facts)
    lostAnswers += result.facts.scans.reduce(0) { $0 + $1.timesLost }
    if result.finishedFirst { unreached.append(plan.name) }
    if plan.misbehaviour.reaches(plan.kill) == result.finishedFirst {
      violations.append(
        result.finishedFirst
          ? "\(plan.name): it ended before it came to the point"
          : "\(plan.name): it came to a point that it is said not to come to")
    }
    violations += check.violations(result.facts).map { "\(plan.name): \($0)" }
  }

  package mutating func add(_ other: ScanTally) {
    reached.merge(other.reached, uniquingKeysWith: +)
    killed.merge(other.killed, uniquingKeysWith: +)
    addsKilledAtRandom += other.addsKilledAtRandom
    runsKilledAtRandom += other.runsKilledAtRandom
    rounds += other.rounds
    photos += other.photos
    unknownJobs += other.unknownJobs
    lostAnswers += other.lostAnswers
    unreached += other.unreached
    violations += other.violations
  }

  package var table: String {
    var lines = [Rehearsal.row("point", "reached", "killed")]
    for point in Self.points {
      lines.append(
        Rehearsal.row(point.rawValue, "\(reached[point] ?? 0)", "\(killed[point] ?? 0)"))
    }
    lines.append(Rehearsal.row("at random: scan add", "", "\(addsKilledAtRandom)"))
    lines.append(Rehearsal.row("at random: scan run", "", "\(runsKilledAtRandom)"))
    lines += unreached.sorted().map { "not reached: \($0)" }
    lines.append(
      """
      \(killCount) kills in \(rounds) rounds with \(photos) photos; \(unknownJobs) jobs left at \
      the service that nobody knows, \(lostAnswers) answers counted as lost; \
      \(violations.count) violations
      """)
    return lines.joined(separator: "\n")
  }
}
