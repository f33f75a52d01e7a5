#if Server
import Foundation
import Tern
import TernTesting
import TestDevice
import Testing

@testable import TernServer

/// Devices of a space that moves to another store, over real sockets.
@Suite("Service: devices of a space that moves", .timeLimit(.minutes(1)))
struct MovedSpaceTests {
  private let folder = FileManager.default.temporaryDirectory
    .appending(path: "tern-\(UUID().uuidString)")

  private func open(_ name: String, seed: UInt64) throws -> SQLiteSpaceStore {
    var generator = SeededGenerator(seed: seed)
    return try SQLiteSpaceStore(path: folder.appending(path: name).path, using: &generator)
  }

  @Test func `they wait by name, go on where they were, and keep their ids`() async throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (source, target) = (try open("from.tern", seed: 1), try open("to.tern", seed: 2))
    let space = try SpaceName(Server.space)
    var (port, devices) = (0, [Device]())
    try await Server.run(source) { server in
      port = server.port
      devices = [try await Device(port), try await Device(port)]
      for (index, device) in devices.enumerated() {
        try await device.execute("INSERT INTO item VALUES ('\(index)', 'before', 1)")
        try await device.engine.syncOnce()
      }
      // The first device has not pulled what the second one wrote.
      try SpaceMove(space, from: source, to: target).run()
      try await devices[0].execute("INSERT INTO item VALUES ('late', 'after', 1)")
      let error = await #expect(throws: RemoteError.self) { try await devices[0].engine.syncOnce() }
      #expect(error?.code == .spaceMoved && error?.isTransient ?? false)
      #expect(devices[0].engine.status.current.unpushed == 1)
    }
    let ids = [try await devices[0].replica.id(), try await devices[1].replica.id()]
    try await Server.run(target, port: port) { server in
      for device in devices { try await device.engine.syncOnce() }
      try await devices[1].waitForRows(3)
      try await devices[0].waitForRows(3)
      let greeting = try server.service.greet(space)
      // Nothing was pushed again, and nobody took a new id.
      #expect(greeting.position == 3 && greeting.heads.sequences.count == 2)
      let idsAfter = [try await devices[0].replica.id(), try await devices[1].replica.id()]
      #expect(idsAfter == ids)
      #expect(devices.allSatisfy { $0.engine.status.current.lastError == nil })
      let states = try devices.map { try $0.replica.store.canonicalState() }
      #expect(states[0] == states[1])
      #expect(greeting.epoch == source.epoch && target.epoch != source.epoch)
    }
    try source.close()
    try target.close()
  }
}
#endif
