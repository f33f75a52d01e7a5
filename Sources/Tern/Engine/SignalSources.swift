import TernCore

/// What tells a run of the network and of the remote, on the engine's executor.
actor SignalSources {
  private let remote: any Remote
  private let environment: SyncEnvironment
  private let signals: SyncSignals

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    environment.executor.asUnownedSerialExecutor()
  }

  init(_ remote: any Remote, _ environment: SyncEnvironment, _ signals: SyncSignals) {
    (self.remote, self.environment, self.signals) = (remote, environment, signals)
  }

  func followNetwork(from generation: UInt64) async {
    for await path in environment.network.changes()
    where path.generation != generation && path.mayHaveRoute {
      signals.send(.networkChanged)
    }
  }

  /// - Parameter openings: where the replica is when a stream is to begin.
  func followRemote(_ openings: AsyncStream<RemoteCursor?>) async {
    for await cursor in openings {
      let generation = environment.network.path.generation
      await withTaskGroup(of: Bool.self) { group in
        group.addTask { await self.followPositions(after: cursor) }
        group.addTask { await self.waitForOtherNetwork(than: generation) }
        group.addTask { [environment, signals] in
          // Cancellation ends the wait.
          guard (try? await environment.clock.sleep(for: .seconds(10))) != nil else {
            return false
          }
          signals.send(.streamHolds)
          return false
        }
        for await isOver in group where isOver { group.cancelAll() }
      }
    }
  }

  private func followPositions(after cursor: RemoteCursor?) async -> Bool {
    do {
      for try await position in remote.positions(after: cursor) {
        signals.send(.remotePosition(position))
      }
      signals.send(.streamEnded(RemoteError(.unreachable, "the event stream ended")))
    } catch {
      signals.send(.streamEnded(RemoteError(of: error)))
    }
    return true
  }

  /// A stream that began on another network may never end by itself.
  private func waitForOtherNetwork(than generation: UInt64) async -> Bool {
    for await path in environment.network.changes() where path.generation != generation {
      signals.send(.streamEnded(RemoteError(.unreachable, "the network changed")))
      return true
    }
    return false
  }

  func followRefusals(_ refusals: AsyncStream<SyncSession.Refusal>) async {
    await withDiscardingTaskGroup { group in
      for await refusal in refusals {
        group.addTask { [clock = environment.clock, signals] in
          // Cancellation ends the wait.
          guard (try? await clock.sleep(for: refusal.delay)) != nil else { return }
          signals.send(.mayAskAgain(refusal.number))
        }
      }
    }
  }
}
