#if Server && Rehearsal
import Tern
import TernTesting

/// What is told of attempts.
extension JobLedger {
  func hangs(_ id: Int64) {
    trace.note("job \(id) hangs")
    entries[id]?.attempt?.hangs = true
  }

  /// Whether a start of a job is the one that runs.
  func runs(_ id: Int64, start: Int, _ process: JobProcess) -> Bool {
    rows[id]?.state == .running && rows[id]?.starts == start
      && entries[id]?.attempt?.run == process.run
  }

  func reported(_ id: Int64) { entries[id]?.attempt?.progressedAt = clock.milliseconds }

  /// Whether something beside time, gates and pauses may hold it back.
  func isPaced(_ row: JobRow) -> Bool {
    !row.needs.isEmpty || plan.paces[row.kind] != nil
      || (plan.budget != nil && pacing.troubled.contains(row.service))
  }
}
#endif
