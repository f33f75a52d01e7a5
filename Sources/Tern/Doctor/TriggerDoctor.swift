import TernCore
import TernDatabase

/// Names the app's triggers that do not run in merges, and those that failed there.
struct TriggerDoctor {
  let transaction: StoreTransaction
  let findings: Findings

  func run() throws {
    for trigger in try transaction.triggers.all().skipped {
      try findings.add(
        .triggerSkipped,
        "trigger “\(trigger.name)” does not run for rows that sync brings: \(trigger.reason)",
        at: .init(table: trigger.table))
    }
    for failure in try transaction.failedTriggers.all() {
      try findings.add(
        .triggerFailed,
        "the app's triggers failed \(failure.count) times for rows that sync brought, which are there "
          + "without what these do; the last error: \(failure.error)",
        at: .init(table: failure.table))
    }
  }
}
