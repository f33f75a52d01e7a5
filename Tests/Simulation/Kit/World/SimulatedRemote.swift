#if Server && Rehearsal
import Tern
import TernServer
import TernTesting

/// One device's way to a space on a server.
struct SimulatedRemote: Remote {
  let server: SimulatedServer
  let device: Int
  let space: Int
  var id: String { "server-\(server.index)" }
  var keepsSnapshots: Bool { true }

  func request<T: Sendable>(
    _ name: String, _ body: @escaping @Sendable (SimulatedServer) throws -> T
  ) async throws -> T {
    do {
      return try await server.request(device, name, for: space, with: server.tokens[space], body)
    } catch let error as RemoteError {
      server.noteFailure(of: device)
      throw error
    }
  }

  func greet(as replica: ReplicaID?) async throws -> RemoteGreeting {
    let (device, space) = (device, space)
    return try await request("greet") { try $0.greet(space, as: replica, of: device) }
  }

  func push(_ operations: [SyncOperation]) async throws -> PushReceipt {
    let (device, space) = (device, space)
    server.unsettled.insert(device)
    let receipt = try await request("push \(operations.count)") {
      try $0.push(operations, to: space, of: device)
    }
    server.unsettled.remove(device)
    return receipt
  }

  func pull(after cursor: RemoteCursor?, excluding excluded: ReplicaID) async throws -> PulledPage {
    let (device, space) = (device, space)
    return try await request("pull") {
      try $0.pull(from: space, after: cursor, excluding: excluded, of: device)
    }
  }

  func positions(after cursor: RemoteCursor?) -> AsyncThrowingStream<UInt64, any Error> {
    server.positions(for: device, in: space, after: cursor)
  }

  func snapshotPart(_ index: Int, of id: String) async throws -> [UInt8] {
    let space = space
    return try await request("fetch part \(index)") {
      try $0.snapshotPart(index, of: id, in: space)
    }
  }

  func beginSnapshot(_ offer: SnapshotOffer) async throws -> SnapshotUpload {
    let (device, space) = (device, space)
    return try await request(offer.isBase ? "offer a base" : "offer a snapshot") {
      try $0.beginSnapshot(offer, by: device, in: space)
    }
  }

  func putSnapshotPart(_ bytes: [UInt8], index: Int, of id: String) async throws {
    let space = space
    try await request("put part \(index)") {
      try $0.putSnapshotPart(bytes, index: index, of: id, in: space)
    }
  }

  func completeSnapshot(_ id: String) async throws {
    let (space, device) = (space, device)
    try await request("complete a snapshot") {
      try $0.completeSnapshot(id, by: device, in: space)
    }
  }

  func report(_ state: StateReport) async throws {
    let (device, space) = (device, space)
    try await request("report the state") { try $0.report(state, in: space, of: device) }
  }

  // MARK: - What nobody may

  /// Asks for another space with this one's token, and with none; each must be refused.
  ///
  /// - Returns: what was answered all the same.
  func trespass(into other: Int, with operations: [SyncOperation]) async throws -> String? {
    let device = device
    for token in [server.tokens[space], nil] {
      let (greets, pulls) = (
        try await isAnswered(other, token) {
          _ = try $0.greet(other, as: nil, of: device)
        },
        try await isAnswered(other, token) {
          let nobody = ReplicaID(high: 0, low: 0)
          _ = try $0.pull(from: other, after: nil, excluding: nobody, of: device)
        }
      )
      let pushes = try await isAnswered(other, token) {
        _ = try $0.push(operations, to: other, of: device)
      }
      if greets || pulls || pushes {
        return "INV-08: space \(other) answered device \(device) of space \(space)"
      }
    }
    return nil
  }

  private func isAnswered(
    _ other: Int, _ token: String?, _ body: @escaping @Sendable (SimulatedServer) throws -> Void
  ) async throws -> Bool {
    do {
      try await server.request(device, "trespass", for: other, with: token, body)
      return true
    } catch let error as RemoteError {
      // A network that fails refuses too.
      return !error.isTransient && error.code != .forbidden && error.code != .unauthorized
    }
  }
}
#endif
