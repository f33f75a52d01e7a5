import Foundation

nonisolated(unsafe) private var work: () throws -> Void = {}

/// The only function that callgrind counts: `--toggle-collect=tern_bench_measured`.
@inline(never)
@c(tern_bench_measured)
func measured() {
  do { try work() } catch { fatalError("the measured work failed: \(error)") }
}

/// Runs the work inside of ``measured()``.
func measure(_ body: @escaping () throws -> Void) {
  work = body
  measured()
}

/// What all threads of this process have computed, in seconds.
var processorTime: Double {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
