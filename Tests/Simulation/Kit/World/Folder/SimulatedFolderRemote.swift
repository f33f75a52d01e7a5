#if Server && Rehearsal
import Foundation
import Tern
import TernTesting

/// One device's way to its copy of a shared folder: the real remote, over what is simulated beneath it.
struct SimulatedFolderRemote: Remote {
  let folder: SimulatedFolder
  private let base: DirectoryRemote
  static let id = "folder"
  var id: String { Self.id }

  /// For one life of the app.
  init(_ folder: SimulatedFolder, _ replica: Replica, _ executor: any SerialExecutor) {
    self.folder = folder
    let store = replica.store
    let isSmall = folder.script.conditions.contains(.smallFiles)
    base = DirectoryRemote(
      URL(filePath: folder.root), space: "space-\(folder.space)",
      writer: { try store.replicaID() }, files: folder.files,
      fileBytes: isSmall ? 1_500 : 8 << 20, clock: folder.clock, pollInterval: .seconds(2),
      executor: executor)
  }

  func greet(as replica: ReplicaID?) async throws -> RemoteGreeting {
    try await request("greet") { try await base.greet(as: replica) }
  }

  func push(_ operations: [SyncOperation]) async throws -> PushReceipt {
    folder.checkTimes(operations)
    do {
      return try await request("push \(operations.count)") {
        let losses = folder.losses
        let receipt = try await base.push(operations)
        // Otherwise what it acknowledged may be gone since.
        if losses == folder.losses { folder.checkHolds(operations) }
        return receipt
      }
    } catch {
      if folder.bury() { throw CancellationError() }
      throw error
    }
  }

  func pull(after cursor: RemoteCursor?, excluding excluded: ReplicaID) async throws -> PulledPage {
    let page = try await request("pull") {
      try await base.pull(after: cursor, excluding: excluded)
    }
    if page.withheld != nil { folder.trace.saw(.folderWithheld) }
    return page
  }

  func positions(after cursor: RemoteCursor?) -> AsyncThrowingStream<UInt64, any Error> {
    base.positions(after: cursor)
  }

  private func request<T: Sendable>(_ name: String, _ body: () async throws -> T) async throws -> T
  {
    let what = "device \(folder.device) \(name) in its folder"
    try await folder.clock.sleep(for: .milliseconds(folder.delay()))
    if !folder.isFaulty { folder.pace.quiet += 1 }
    do {
      let result = try await body()
      folder.trace.note("\(what): done")
      return result
    } catch let error as RemoteError {
      folder.trace.note("\(what): \(error.code.rawValue)")
      folder.trace.tally.add(Tally.refusal(error.code, by: .folder))
      folder.noteFailure()
      throw error
    }
  }
}

extension SimulatedFolder {
  fileprivate func delay() -> Int { .random(in: 1...20, using: &generator) }

  fileprivate func noteFailure() {
    let storm = pace.failed(of: device, at: clock.milliseconds)
    violation = violation ?? storm
  }

  fileprivate func checkTimes(_ operations: [SyncOperation]) {
    violation = violation ?? operations.timesNotIncreasing
  }
}
#endif
