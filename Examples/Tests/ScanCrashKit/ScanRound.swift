import Foundation
import GRDB
@_spi(Rehearsal) import Tern
import TernJobs
import TernTesting

/// A library of its own, whose programs are killed while its photos are scanned. Blocks.
struct ScanRound {
  struct Result: Sendable {
    var facts: ScanFacts
    var photos: Int
    var points: [(point: CrashPoint, isKill: Bool)] = []
    var addsKilled = 0
    var runsKilled = 0
    /// Whether it ended its work before it could die.
    var finishedFirst = false
    var loss = ScanLoss.none
  }

  let kill: ScanKill?
  let device: ScanDevice
  let photo: String

  func run() throws -> Result {
    var result: Result
    switch kill {
    case nil:
      try accept()
      result = try Result(facts: ScanFacts(of: device), photos: 1)
    case .at(_, _, .add): result = try killAdding()
    case .at(_, _, .run): result = try killRunning()
    case .atRandom(let count, let seed): result = try killAtRandom(count, seed)
    }
    try finish()
    // Opening it once more sweeps up after the last one.
    _ = try device.status()
    result.facts = try ScanFacts(of: device)
    result.points = device.points()
    return result
  }

  private func accept() throws {
    guard try device.add(photo).isAccepted else { throw ScanCrashFailure("a photo was refused") }
  }

  /// To the end, however often the service has to be waited for.
  private func finish() throws {
    guard try device.run() == .finished else { throw ScanCrashFailure("scan was killed by nobody") }
    guard try isWaiting() else { return }
    try device.passPause()
    _ = try device.run()
  }

  private func isWaiting() throws -> Bool {
    try ScanFacts(of: device).scans.contains { $0.job == "waiting" }
  }

  private func killAdding() throws -> Result {
    let died = try device.add(photo, armed: kill?.armed(.add)).end == .killed
    if try scans() == 0 { try accept() }
    var result = try Result(facts: ScanFacts(of: device), photos: 1)
    (result.addsKilled, result.finishedFirst) = (died ? 1 : 0, !died)
    return result
  }

  private func killRunning() throws -> Result {
    try accept()
    var died = try device.run(armed: kill?.armed(.run)) == .killed
    if try !died && isWaiting() {
      try device.passPause()
      died = try device.run(armed: kill?.armed(.run)) == .killed
    }
    var result = try Result(facts: ScanFacts(of: device), photos: 1)
    (result.runsKilled, result.finishedFirst) = (died ? 1 : 0, !died)
    let phase = try device.read { try String.fetchOne($0, sql: "SELECT phase FROM scan") }
    result.loss = ScanLoss(device.points(), isSending: phase == "uploading")
    return result
  }

  private func killAtRandom(_ count: Int, _ seed: UInt64) throws -> Result {
    var generator = SeededGenerator(seed: seed)
    try accept()
    var result = try Result(facts: ScanFacts(of: device), photos: 1)
    var inARow = 0
    while result.addsKilled + result.runsKilled < count {
      // Once more, and a job that comes no further in its time, as on a slow machine, is parked.
      if inARow == JobLimits().deaths - 1 {
        try finish()
        inARow = 0
      }
      if generator.happens(0.25) {
        let delay = Duration.milliseconds(Int.random(in: 1...120, using: &generator))
        let (end, isAccepted) = try device.add(photo, killAfter: delay)
        if end == .killed { result.addsKilled += 1 }
        let scans = try scans()
        // One that died may have come further than it could say.
        guard scans == result.photos + 1 || (!isAccepted && scans == result.photos) else {
          throw ScanCrashFailure("\(scans) scans after \(result.photos), accepted: \(isAccepted)")
        }
        result.photos = scans
      } else {
        if try device.isSettled() {
          try accept()
          result.photos += 1
          inARow = 0
        }
        let delay = Duration.milliseconds(Int.random(in: 20...700, using: &generator))
        if try device.run(killAfter: delay) == .killed {
          result.runsKilled += 1
          inARow += 1
        }
      }
    }
    return result
  }

  /// None where the library was not even made.
  private func scans() throws -> Int {
    try device.read { db in
      try db.tableExists("scan") ? try Int.fetchOne(db, sql: "SELECT count(*) FROM scan") ?? 0 : 0
    }
  }
}
