#if Server && Rehearsal
import Foundation
import Tern
import TernNetwork
import TernTesting

/// The system as one run of a process' worker knows it: nothing of a dead one gets there.
struct ProcessTransfers: BackgroundTransfers {
  let system: SimulatedTransfers
  let process: JobProcess
  let run: Int

  var endsWithProcess: Bool { false }

  func begin(_ id: String, _ request: HTTPRequest, file: URL) async throws {
    try process.checkAlive()
    let ledger = process.world.ledger
    ledger.handOver(id, in: run)
    await system.takeTime()
    try process.checkAlive()
    do {
      try system.begin(id, request, file: file)
    } catch {
      ledger.keep(id)
      throw error
    }
    ledger.entrust(id, in: run)
  }

  func ids() async -> Set<String> {
    let ids = Set(system.held.keys)
    if !process.isDead { process.world.ledger.list(ids, in: run) }
    return ids
  }

  func forget(_ id: String) async {
    guard !process.isDead else { return }
    process.world.ledger.forget(id)
    system.forget(id)
  }

  func run(_ take: @escaping @Sendable (_ id: String, TransferAnswer) async -> Void) async {
    guard !process.isDead else { return }
    process.world.ledger.checkCompared(in: run)
    let answers = system.listen()
    await withDiscardingTaskGroup { group in
      for await (id, answer) in answers { group.addTask { await take(id, answer) } }
    }
  }
}
#endif
