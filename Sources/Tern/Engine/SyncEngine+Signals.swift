import TernCore

/// What wakes a run, and how it waits.
extension SyncEngine {
  func followLocalWrites(_ writes: AsyncStream<Void>, _ signals: SyncSignals) async {
    for await _ in writes {
      // An operation for each commit, whether there is a remote to take it or not.
      sealWritten()
      // In every other phase a push is on its way.
      if session.phase == .listening { signals.send(.localWrite) }
    }
  }

  /// Perhaps no push follows that would meet the error again.
  private func sealWritten() {
    do {
      try store.seal()
      guard session.phase == .waiting else { return }
      let unpushed = try countUnpushed()
      status.update { $0.unpushed = unpushed }
    } catch {
      status.update { $0.lastError = RemoteError(of: error) }
    }
  }

  /// Commits of other processes, and times that have come, are found by looking; and what somebody
  /// else sealed: another engine of the replica, or another process.
  func followOtherProcesses(_ signals: SyncSignals) async {
    while (try? await environment.clock.sleep(for: environment.pollInterval)) != nil {
      signals.look()
      // An error here is met again, and reported, by the push that follows the next signal.
      if session.phase == .listening, (try? isAheadOfRemote || store.hasNews()) ?? true {
        // Perhaps no push follows, because the remote refuses them.
        if session.refusal != nil { sealWritten() }
        signals.send(.localWrite)
      }
    }
  }

  /// What it refuses, it is asked again when its time comes.
  private var isAheadOfRemote: Bool {
    get throws {
      guard session.refusal == nil else { return false }
      let own = try store.ownHead()
      return own.sequence > session.heads[own.id]
    }
  }

  // MARK: - Waiting

  /// Waits after a failure, unless somebody asks or the network changes, but not less than
  /// the remote wants.
  ///
  /// - Returns: `nil` when the run is to end.
  func wait(
    _ delay: Duration, _ pause: Duration, after error: RemoteError, _ signals: SyncSignals,
    _ wakes: inout AsyncStream<Void>.Iterator
  ) async -> SyncSession.Event? {
    await withTaskGroup(of: Void.self) { group in
      let number = signals.beginWait(isPaused: pause > .zero)
      group.addTask { [clock = environment.clock] in
        // Cancellation ends the wait.
        guard (try? await clock.sleep(for: pause)) != nil else { return }
        signals.endPause(of: number)
        guard (try? await clock.sleep(for: delay - pause)) != nil else { return }
        signals.endWait(number)
      }
      defer { group.cancelAll() }
      while !Task.isCancelled {
        switch signals.takeEnd() {
        case .waited: return .waited
        case .networkChanged: return .woken(isByNetwork: true)
        case .asked(isInPause: false): return .woken(isByNetwork: false)
        case .asked(isInPause: true):
          turns.attend()
          turns.answer(.failed(error))
        case nil:
          guard await wakes.next(isolation: self) != nil else { return nil }
        }
      }
      return nil
    }
  }
}
