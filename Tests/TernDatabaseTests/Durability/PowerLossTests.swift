#if os(Linux) || os(macOS)
import Foundation
import Rehearsals
import Synchronization
import TernDatabase
import Testing

/// INV-02, for commits: what was acknowledged is there after losing power. The writers run on
/// a VFS that keeps what is not synced in memory, so that SIGKILL loses it.
@Suite("Durability: power loss", .serialized)
struct PowerLossTests {
  static let killCount = Rehearsal.count(200, short: 40)
  /// Processors of the smallest machine that runs this.
  static let writersAtOnce = 2

  @Test("no acknowledged commit is lost under .powerLoss")
  func powerLoss() async throws {
    let tally = await kill(Self.killCount, under: .powerLoss)
    #expect(tally.runs == Self.killCount)
    #expect(tally.losses == [])
    #expect(tally.failures == [])
    #expect(tally.rowsAcknowledged > Self.killCount, "the writers have hardly written")
  }

  @Test("the same kills do lose commits under .processCrash, and damage nothing")
  func processCrash() async throws {
    let tally = await kill(Rehearsal.count(50, short: 20), under: .processCrash)
    #expect(!tally.losses.isEmpty, "a VFS that loses nothing proves nothing about .powerLoss")
    #expect(tally.failures == [])
  }

  private func kill(_ count: Int, under durability: Durability) async -> Tally {
    let tally = Mutex(Tally())
    await onThreads(Self.writersAtOnce) { thread in
      for seed in stride(from: thread, to: count, by: Self.writersAtOnce) {
        let run = PowerLossRun(durability: durability, seed: UInt64(seed))
        let result = Result { try run.perform() }
        tally.withLock { $0.add(result, of: run) }
      }
    }
    let result = tally.withLock { $0 }
    print("power loss, .\(durability): \(result.summary)")
    return result
  }

  /// Waiting for a process would hold up other tests on Swift's own threads.
  private func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) async {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        DispatchQueue.concurrentPerform(iterations: count, execute: body)
        continuation.resume()
      }
    }
  }
}

private struct Tally {
  var runs = 0
  var rowsAcknowledged = 0
  var beforeFirstAcknowledgement = 0
  var survivedUnacknowledged = 0
  var losses: [String] = []
  var failures: [String] = []

  var summary: String {
    """
    \(runs) kills, \(rowsAcknowledged) acknowledged rows, \(losses.count) runs with a loss, \
    \(beforeFirstAcknowledgement) killed before the first acknowledgement, \
    \(survivedUnacknowledged) with a commit beyond the last\(losses.first.map { "; \($0)" } ?? "")
    """
  }

  mutating func add(_ result: Result<PowerLossRun.Outcome, any Error>, of run: PowerLossRun) {
    runs += 1
    switch result {
    case .failure(let error):
      failures.append("seed \(run.seed): \(error)")
    case .success(let outcome):
      failures += outcome.damage.map { "seed \(run.seed): \($0)" }
      rowsAcknowledged += outcome.acknowledged ?? 0
      if outcome.acknowledged == nil { beforeFirstAcknowledgement += 1 }
      if (outcome.survived ?? -1) > (outcome.acknowledged ?? -1) { survivedUnacknowledged += 1 }
      if outcome.isLoss {
        let survived = outcome.survived.map { "\($0)" } ?? "nothing"
        losses.append(
          "seed \(run.seed): \(outcome.acknowledged ?? 0) acknowledged, \(survived) survived")
      }
    }
  }
}
#endif
