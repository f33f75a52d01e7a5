import GRDB
import TernCore
import TernDatabase

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
      status.update { $0.lastError = remoteError(error) }
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

  func followNetwork(from generation: UInt64, _ signals: SyncSignals) async {
    for await path in environment.network.changes()
    where path.generation != generation && path.mayHaveRoute {
      signals.send(.networkChanged)
    }
  }

  func followRemote(_ openings: AsyncStream<Void>, _ signals: SyncSignals) async {
    for await _ in openings {
      let generation = environment.network.path.generation
      await withTaskGroup(of: Bool.self) { group in
        group.addTask { await self.followPositions(signals) }
        group.addTask { await self.waitForOtherNetwork(than: generation, signals) }
        group.addTask {
          // Cancellation ends the wait.
          guard (try? await self.environment.clock.sleep(for: .seconds(10))) != nil else {
            return false
          }
          signals.send(.streamHolds)
          return false
        }
        for await isOver in group where isOver { group.cancelAll() }
      }
    }
  }

  private func followPositions(_ signals: SyncSignals) async -> Bool {
    do {
      for try await position in remote.positions() { signals.send(.remotePosition(position)) }
      signals.send(.streamEnded(RemoteError(.unreachable, "the event stream ended")))
    } catch {
      signals.send(.streamEnded(remoteError(error)))
    }
    return true
  }

  /// A stream that began on another network may never end by itself.
  private func waitForOtherNetwork(than generation: UInt64, _ signals: SyncSignals) async -> Bool {
    for await path in environment.network.changes() where path.generation != generation {
      signals.send(.streamEnded(RemoteError(.unreachable, "the network changed")))
      return true
    }
    return false
  }

  func followRefusals(
    _ refusals: AsyncStream<SyncSession.Refusal>, _ signals: SyncSignals
  ) async {
    await withDiscardingTaskGroup { group in
      for await refusal in refusals {
        group.addTask { [clock = environment.clock] in
          // Cancellation ends the wait.
          guard (try? await clock.sleep(for: refusal.delay)) != nil else { return }
          signals.send(.mayAskAgain(refusal.number))
        }
      }
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

  /// What is not the remote's own word: the database's errors and operations that cannot merge.
  ///
  /// - Parameter action: what threw it, where that was one of the session's.
  func remoteError(_ error: any Error, of action: SyncSession.Action? = nil) -> RemoteError {
    if let error = error as? RemoteError { return error }
    if let error = error as? MergeError, error.code == .foreignOwn {
      return RemoteError(
        .foreignOwn, error.description, replica: error.replica, sequence: error.sequence)
    }
    if case .loadSnapshot = action, SnapshotExchange.isUnloadable(error) {
      return RemoteError(.snapshotUnloadable, "\(error)")
    }
    let isPassing = (error as? DatabaseError)?.passes ?? false
    return RemoteError(isPassing ? .busy : .local, "\(error)")
  }
}
