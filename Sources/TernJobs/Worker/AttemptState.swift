import Synchronization

/// What an attempt has in memory, for all copies of its ``JobContext``.
final class AttemptState: Sendable {
  /// Paths by name.
  private let files: Mutex<[String: String]>
  private let steps = Mutex<Set<String>>([])
  private let transfers = Mutex(Transfers())
  private let refusal = Mutex<(any Error)?>(nil)
  private let mark = Mutex<CredentialMark?>(nil)

  struct Transfers {
    /// The names of those that go on without the attempt.
    var entrusted: Set<String> = []
    var spent: Set<SpentTransfer> = []
    /// Whether one came to its end over a network that did not stay the same.
    var isUnsteady = false
  }

  init(files: [String: String]) {
    self.files = Mutex(files)
  }

  func path(_ name: String) -> String? { files.withLock { $0[name] } }

  /// What a step made and gave up is committed.
  func take(_ made: StepFiles) {
    files.withLock { files in
      for name in made.released { files[name] = nil }
      for file in made.created { files[file.name] = file.path }
    }
  }

  /// - Returns: whether no step of that name was under way.
  func begin(step name: String) -> Bool { steps.withLock { $0.insert(name).inserted } }

  func end(step name: String) { steps.withLock { _ = $0.remove(name) } }

  /// What the app's database said to the last checkpoint; `nil` as the next one begins.
  func note(refusal error: (any Error)?) { refusal.withLock { $0 = error } }

  /// Whether an error is that, and not what a service said after it.
  func isRefusal(_ error: any Error) -> Bool {
    guard let refusal = refusal.withLock({ $0 }) else { return false }
    return type(of: refusal) == type(of: error) && FailureText.of(refusal) == FailureText.of(error)
  }

  /// The credential that it was given last.
  var credential: CredentialMark? { mark.withLock { $0 } }

  func note(credential: CredentialMark?) { mark.withLock { $0 = credential } }

  var transferred: Transfers { transfers.withLock { $0 } }

  func entrust(_ name: String) { transfers.withLock { _ = $0.entrusted.insert(name) } }

  func spend(_ kind: CheckpointKind, _ name: String) {
    transfers.withLock { _ = $0.spent.insert(SpentTransfer(kind: kind, name: name)) }
  }

  func noteUnsteadiness() { transfers.withLock { $0.isUnsteady = true } }
}
