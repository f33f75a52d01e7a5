import TernCore

/// How an attempt ended.
struct AttemptEnd: Sendable {
  let event: JobLife.Event
  let reason: String?
  /// Whether it says something of the job's service: not what the app's own database said.
  var isOfService = true
  /// The transfers for whose ends the job waits.
  var entrusted: Set<String> = []
  /// Of the transfers that came to their ends: what no other attempt is given.
  var spent: Set<SpentTransfer> = []
  /// What refused it room in its own queue.
  var full: JobQueueError.Full?
  /// What it says of its lane's credential: of one that succeeded, that it was accepted; otherwise
  /// that another is needed, which is why it ended.
  var credential: CredentialLife.Event?
  /// What was thrown, and for how long the handler ran: for observers alone.
  var error: String?
  var ran: Duration?

  /// Whether a handler that was told to end ended so because of that, whatever it says, and also
  /// where it says nothing: a loop over a stream ends then as if no more would come. What its steps
  /// stored is not done again. But what its service asks for holds, and what it handed
  /// over goes on.
  var isOfStop: Bool {
    switch event {
    case .failed(.limited, _): false
    case .succeeded, .failed: true
    default: false
    }
  }

  var stopped: AttemptEnd {
    var end = AttemptEnd(event: .shutDown, reason: nil)
    (end.spent, end.ran) = (spent, ran)
    return end
  }
}
