#if Server && Rehearsal
import Tern
import TernTesting

/// How often a job may ask a service for one thing: once in each attempt, and no attempt follows
/// another one but as its end explains.
extension JobLedger {
  /// A handler is about to send a request, or has begun an upload.
  func send(_ id: Int64, _ name: String, _ process: JobProcess) {
    guard rows[id]?.state == .running, entries[id]?.attempt?.run == process.run else {
      // Removed or cancelled since the step looked whether it was done: that one request is made.
      entries[id]?.lateSends += 1
      if entries[id]?.lateSends ?? 0 > 1 {
        fail(.drains, "job \(id) sends \(name), and was ended before the request before")
      }
      return
    }
    if entries[id]?.attempt?.sent.insert(name).inserted == false {
      fail(.drains, "job \(id) sends \(name) twice in one attempt")
    }
    entries[id]?.requests[name, default: RequestTally()].sends += 1
    guard let tally = entries[id]?.requests[name], let kind = rows[id]?.kind else { return }
    let most = tally.most(retries: RetryPolicy.ofJobs(kind).retries)
    if tally.sends > most {
      fail(.drains, "job \(id) sends \(name) \(tally.sends) times, and \(most) are explained")
    }
  }
}

/// What became of one request of a job since that was enqueued, replaced or retried: of a step, of one
/// event of a stream, or of an upload.
struct RequestTally {
  var sends = 0
  /// Attempts that sent it and failed, of which a policy allows so many.
  var counted = 0
  /// Attempts that sent it and ended by what costs none: a network that went or changed, a gate, a
  /// shutdown, a death, an upload that goes on.
  var uncounted = 0

  func most(retries: Int) -> Int { 1 + uncounted + min(counted, retries) }
}

extension RetryPolicy {
  static func ofJobs(_ kind: String) -> RetryPolicy {
    switch kind {
    case Scan.name: Scan.retry
    case Upload.name: Upload.retry
    case Translate.name: Translate.retry
    default: Index.retry
    }
  }

  /// How many failures another attempt follows.
  fileprivate var retries: Int {
    (1...).prefix { delay(afterFailures: $0) != nil }.count
  }
}
#endif
