import Foundation
import Rehearsals
@_spi(Rehearsal) import Tern

/// How often each point was reached and killed, over one fleet or many.
package struct CrashTally: Sendable {
  package private(set) var reached: [CrashPoint: Int] = [:]
  package private(set) var killed: [CrashPoint: Int] = [:]
  package internal(set) var killedAtRandom: [Fleet.Member: Int] = [:]
  package internal(set) var fleets = 0
  package internal(set) var acknowledged = 0
  /// Writes that were there after a kill that took their acknowledgement.
  package internal(set) var keptUnacknowledged = 0
  package internal(set) var operations = 0
  /// Kills before `open` returned.
  package internal(set) var killedOpening = 0
  /// Writes by others between a death and the next opening.
  package internal(set) var writtenByOthers = 0
  /// Deaths after which others wrote nothing, since nobody could have told it from the migration.
  package internal(set) var deathsAfterMigration = 0
  /// What must not be, with the fleet that it happened to.
  package internal(set) var violations: [String] = []

  package init() {}

  package var killCount: Int {
    killed.values.reduce(0, +) + killedAtRandom.values.reduce(0, +)
  }

  mutating func read(log path: String) {
    for (point, isKill) in CrashPoint.log(at: path) {
      reached[point, default: 0] += 1
      if isKill { killed[point, default: 0] += 1 }
    }
  }

  package mutating func add(_ other: CrashTally) {
    reached.merge(other.reached, uniquingKeysWith: +)
    killed.merge(other.killed, uniquingKeysWith: +)
    killedAtRandom.merge(other.killedAtRandom, uniquingKeysWith: +)
    fleets += other.fleets
    acknowledged += other.acknowledged
    keptUnacknowledged += other.keptUnacknowledged
    operations += other.operations
    killedOpening += other.killedOpening
    writtenByOthers += other.writtenByOthers
    deathsAfterMigration += other.deathsAfterMigration
    violations += other.violations
  }

  package var table: String {
    var lines = [Rehearsal.row("point", "reached", "killed")]
    for point in CrashPoint.ofSync + CrashPoint.ofOpening + Library.points {
      lines.append(Rehearsal.row(point.rawValue, "\(reached[point] ?? 0)", "\(killed[point] ?? 0)"))
    }
    for member in Fleet.Member.allCases {
      lines.append(Rehearsal.row("at random: \(member.name)", "", "\(killedAtRandom[member] ?? 0)"))
    }
    lines.append(
      """
      \(killCount) kills in \(fleets) fleets; \(acknowledged) acknowledged writes in \(operations) \
      operations, \(keptUnacknowledged) more kept whose acknowledgement a kill took; \
      \(killedOpening) kills while opening, \(writtenByOthers) writes by others after one, none \
      after \(deathsAfterMigration) with a migration complete; \
      \(violations.count) violations
      """)
    return lines.joined(separator: "\n")
  }
}

extension CrashPoint {
  /// The points that processes have reached, and whether they died there. There are none when no
  /// process came up.
  static func log(at path: String) -> [(point: CrashPoint, isKill: Bool)] {
    read(log: String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self))
  }
}
